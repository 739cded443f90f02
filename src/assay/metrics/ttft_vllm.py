"""What would vLLM's benchmark report as time to first token?

ttft_vllm = mean of first chunk with choices - sent, over the answered requests of our measured window
(`assay.metrics.peers`). An empty role chunk counts as the first token, which engines send before they have one: it may be
far too short (vllm#3759, vllm#15106). For comparison with numbers from elsewhere only; our own definition is another, and
starts when a request was due.
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
    return mean(measured, "ttft_vllm")


METRIC = Metric(
    name="ttft_vllm",
    title="Time to first token as vLLM defines it",
    unit=SECONDS,
    kind="level",
    better="lower",
    dimension="performance",
    formula="mean of first chunk with choices - sent",
    compute=compute,
    about=("serving",),
)
