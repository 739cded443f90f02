"""How much do workers wait for one another?

alpha of the Universal Scalability Law X(N) = gamma N / (1 + alpha (N - 1) + beta N (N - 1)), Gunther 1993: the share of
the work that only one worker at a time can do.  Fitted to the throughput of every launch; needs four worker counts.
With beta = 0 the law is Amdahl's and alpha its serial fraction.  Cannot tell which resource they wait for.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Absent, Value
from assay.frames.record_data import Measured
from assay.frames.training.scaling_points import of_parameter, usl
from assay.metrics.base import ALL, Metric, Results
from assay.units import FRACTION


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """One contention for the whole experiment."""
    fitted = usl(measured)
    if isinstance(fitted, Absent):
        return {ALL: fitted}
    return {ALL: of_parameter(measured, *fitted, "alpha", metric="usl_contention", unit=FRACTION)}


METRIC = Metric(
    name="usl_contention",
    title="USL contention",
    unit=FRACTION,
    kind="level",
    better="lower",
    dimension="performance",
    formula="alpha of X(N) = gamma N / (1 + alpha (N-1) + beta N (N-1))",
    compute=compute,
)
