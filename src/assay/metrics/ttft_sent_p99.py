"""What would the p99 of the time to the first token be, had the clock started when the request was sent?

ttft_sent_p99 = 0.99-quantile of first chunk with text - sent, over the answered requests that were due in the measured
window. Beside ttft_p99, never instead of it: the difference is what requests waited in the client, and a clock that starts
at sending hides the requests that a stall delayed (coordinated omission, research/serving.md section 2.2).
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.latencies import NO_TEXT, NOT_STREAMED, percentile
from assay.metrics.rates import all_of, streamed
from assay.units import SECONDS


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The pooled percentile per configuration."""
    if not streamed(measured):
        return all_of(measured, NOT_STREAMED)
    return percentile(measured, "ttft_sent_s", 0.99, "ttft_sent_p99", NO_TEXT)


METRIC = Metric(
    name="ttft_sent_p99",
    title="Time to first token from sending, p99",
    unit=SECONDS,
    kind="level",
    better="lower",
    dimension="performance",
    formula="0.99-quantile of first chunk with text - sent",
    compute=compute,
    about=("serving",),
)
