"""What would vLLM's benchmark report as time per output token?

tpot_vllm = mean of (last chunk with choices - first) / (n - 1), over the answered requests of our measured window
(`assay.metrics.peers`). n by usage, else by the tokenizer, else 1; an answer of one token has none. For comparison with
numbers from elsewhere only; our own definition is another, and starts when a request was due.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.peers import mean
from assay.units import SECONDS


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The mean per configuration."""
    return mean(measured, "tpot_vllm")


METRIC = Metric(
    name="tpot_vllm",
    title="Time per output token as vLLM defines it",
    unit=SECONDS,
    kind="level",
    better="lower",
    dimension="performance",
    formula="mean of (last chunk with choices - first) / (n - 1)",
    compute=compute,
    about=("serving",),
)
