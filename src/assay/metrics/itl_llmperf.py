"""What would llmperf report as inter-token latency?

itl_llmperf = mean of (last chunk with content - sent) / chunks, over the answered requests of our measured window
(`assay.metrics.peers`). It includes the time to the first token, and its divisor counts role and usage chunks. For
comparison with numbers from elsewhere only; our own definition is another, and starts when a request was due.
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
    return mean(measured, "itl_llmperf")


METRIC = Metric(
    name="itl_llmperf",
    title="Inter-token latency as llmperf defines it",
    unit=SECONDS,
    kind="level",
    better="lower",
    dimension="performance",
    formula="mean of (last chunk with content - sent) / chunks",
    compute=compute,
    about=("serving",),
)
