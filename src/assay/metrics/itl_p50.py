"""How long are the pauses between two tokens of an answer, as a rule?

itl_p50 = 0.5-quantile of the gaps between successive token-bearing chunks, each divided by the tokens of the later chunk,
over the answered requests that were due in the measured window, pooled over launches (METRICS.md, "Serving"). A chunk's
tokens: one where there are as many chunks as tokens, else the tokenizer's count, else an even share of the answer's (the
method says how many answers that was).  It cannot tell in which order tokens of one chunk were made.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.gaps import percentile
from assay.units import SECONDS


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The pooled percentile per configuration."""
    return percentile(measured, 0.5, "itl_p50")


METRIC = Metric(
    name="itl_p50",
    title="Inter-token latency, p50",
    unit=SECONDS,
    kind="level",
    better="lower",
    dimension="performance",
    formula="0.5-quantile of gaps between chunks / tokens of the later chunk",
    compute=compute,
    about=("serving",),
)
