"""How unsure is the time of a whole answer, one request in a hundred aside?

e2e_uncertainty_p99 = 0.99-quantile of the uncertainty of the last chunk with text, of an answer without text of its end
(`assay.frames.serving.stamp_uncertainty`), over the answered requests that were due in the measured window; judged by the audit
stamp_uncertainty. It cannot tell by how much a time is off, only by how much at most.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.frames.serving.stamp_uncertainty import UNKNOWN
from assay.metrics.base import Metric, Results
from assay.metrics.latencies import percentile
from assay.units import SECONDS


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The pooled percentile per configuration."""
    return percentile(measured, "e2e_uncertainty_s", 0.99, "e2e_uncertainty_p99", UNKNOWN)


METRIC = Metric(
    name="e2e_uncertainty_p99",
    title="Uncertainty of E2E, p99",
    unit=SECONDS,
    kind="level",
    better="lower",
    dimension="performance",
    formula="0.99-quantile of how much earlier than its stamp the last chunk with text may have come",
    compute=compute,
    about=("serving",),
)
