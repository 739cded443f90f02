"""How long does a user wait for the first token, one request in a hundred aside?

ttft_p99 = 0.99-quantile of first chunk with text (content, reasoning or tool call) - start, over the answered requests
that were due in the measured window, pooled over launches (`assay.metrics.latencies`); Absent where they are too few. The
clock starts when the request was due, in a closed loop when it was sent (METRICS.md, "Serving"), so that a stall cannot hide the requests
it delayed.  An empty role chunk is no token.  It cannot tell queueing from prefill.
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
    return percentile(measured, "ttft_s", 0.99, "ttft_p99", NO_TEXT)


METRIC = Metric(
    name="ttft_p99",
    title="Time to first token, p99",
    unit=SECONDS,
    kind="level",
    better="lower",
    dimension="performance",
    formula="0.99-quantile of first chunk with text (content, reasoning or tool call) - start",
    compute=compute,
    about=("serving",),
    primary=True,
)
