"""How unsure is the time to the first token, one request in a hundred aside?

ttft_uncertainty_p99 = 0.99-quantile of the uncertainty of the first chunk with text (`assay.frames.serving.stamp_uncertainty`), over the
answered requests that were due in the measured window.  A true TTFT lies at most so much below the one that is told; the audit
stamp_uncertainty invalidates a record in which it is too large. It cannot tell by how much a time is off, only by how much at most.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.frames.serving.stamp_uncertainty import UNKNOWN
from assay.metrics.base import Metric, Results
from assay.metrics.latencies import NOT_STREAMED, percentile
from assay.metrics.rates import all_of, streamed
from assay.units import SECONDS


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The pooled percentile per configuration."""
    if not streamed(measured):
        return all_of(measured, NOT_STREAMED)
    return percentile(measured, "ttft_uncertainty_s", 0.99, "ttft_uncertainty_p99", UNKNOWN)


METRIC = Metric(
    name="ttft_uncertainty_p99",
    title="Uncertainty of TTFT, p99",
    unit=SECONDS,
    kind="level",
    better="lower",
    dimension="performance",
    formula="0.99-quantile of how much earlier than its stamp the first chunk with text may have come",
    compute=compute,
    about=("serving",),
)
