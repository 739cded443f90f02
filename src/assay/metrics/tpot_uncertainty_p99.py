"""How unsure is the time per output token, one request in a hundred aside?

tpot_uncertainty_p99 = 0.99-quantile of (uncertainty of the first chunk with text + of the last one) / tokens after the first chunk
(`assay.frames.serving.stamp_uncertainty`), over the answered requests that were due in the measured window.  A true TPOT lies within so
much on either side; judged by the audit stamp_uncertainty. It cannot tell by how much a time is off, only by how much at most.
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
    return percentile(measured, "tpot_uncertainty_s", 0.99, "tpot_uncertainty_p99", UNKNOWN)


METRIC = Metric(
    name="tpot_uncertainty_p99",
    title="Uncertainty of TPOT, p99",
    unit=SECONDS,
    kind="level",
    better="lower",
    dimension="performance",
    formula="0.99-quantile of (uncertainty of the first + of the last chunk with text) / tokens after the first chunk",
    compute=compute,
    about=("serving",),
)
