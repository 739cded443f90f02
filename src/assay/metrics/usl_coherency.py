"""How much does every pair of workers cost?

beta of the Universal Scalability Law X(N) = gamma N / (1 + alpha (N - 1) + beta N (N - 1)), Gunther 1993: the cost of
keeping N workers consistent, which grows with the number of pairs and makes throughput fall in the end.  Fitted to the
throughput of every launch; needs four worker counts.  0 is on its bound: the data show no such cost, and no peak.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Absent, Value
from assay.frames.record_data import Measured
from assay.frames.training.scaling_points import of_parameter, usl
from assay.metrics.base import ALL, Metric, Results
from assay.units import RATIO


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """One coherency for the whole experiment."""
    fitted = usl(measured)
    if isinstance(fitted, Absent):
        return {ALL: fitted}
    return {ALL: of_parameter(measured, *fitted, "beta", metric="usl_coherency", unit=RATIO)}


METRIC = Metric(
    name="usl_coherency",
    title="USL coherency",
    unit=RATIO,
    kind="level",
    better="lower",
    dimension="performance",
    formula="beta of X(N) = gamma N / (1 + alpha (N-1) + beta N (N-1))",
    compute=compute,
)
