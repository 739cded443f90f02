"""How fast do the tokens after the first come as a rule?

tpot_p50 = 0.5-quantile of (last token - first token) / (output tokens - those of the first chunk), over the answered requests that were
due in the measured window, pooled over launches (`assay.metrics.latencies`); Absent where they are too few. Tokens are the server's
usage, else the tokenizer's count (METRICS.md, "Serving"); an answer of one token has none.  A mean over the answer: it
cannot tell an even flow from bursts, which itl_p99 shows.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.latencies import NO_COUNT, NOT_STREAMED, percentile
from assay.metrics.rates import all_of, streamed
from assay.units import SECONDS


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The pooled percentile per configuration."""
    if not streamed(measured):
        return all_of(measured, NOT_STREAMED)
    return percentile(measured, "tpot_s", 0.5, "tpot_p50", NO_COUNT)


METRIC = Metric(
    name="tpot_p50",
    title="Time per output token, p50",
    unit=SECONDS,
    kind="level",
    better="lower",
    dimension="performance",
    formula="0.5-quantile of (last token - first token) / (output tokens - those of the first chunk)",
    compute=compute,
    about=("serving",),
    primary=True,
)
