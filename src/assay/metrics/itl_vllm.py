"""What would vLLM's benchmark report as inter-token latency?

itl_vllm = mean of the gaps between chunks with choices, over the answered requests of our measured window
(`assay.metrics.peers`). A chunk of several tokens is one gap, and the finish reason's chunk has one too. For comparison
with numbers from elsewhere only; our own definition is another, and starts when a request was due.
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
    return mean(measured, "itl_vllm", weight="gaps_vllm")


METRIC = Metric(
    name="itl_vllm",
    title="Inter-token latency as vLLM defines it",
    unit=SECONDS,
    kind="level",
    better="lower",
    dimension="performance",
    formula="mean of the gaps between chunks with choices",
    compute=compute,
    about=("serving",),
)
