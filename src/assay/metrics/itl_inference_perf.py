"""What would inference-perf report as inter-token latency?

itl_inference_perf = mean over tokens of the gaps between them, over the answered requests of our measured window
(`assay.metrics.peers`). Tokens of one chunk have gaps of 0, so that the mean over n - 1 gaps is (last - first)/(n - 1).  n
by the tokenizer, else by usage. For comparison with numbers from elsewhere only; our own definition is another, and starts
when a request was due.
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
    return mean(measured, "itl_inference_perf", weight="gaps_inference_perf")


METRIC = Metric(
    name="itl_inference_perf",
    title="Inter-token latency as inference-perf defines it",
    unit=SECONDS,
    kind="level",
    better="lower",
    dimension="performance",
    formula="mean over tokens of the gaps between them",
    compute=compute,
    about=("serving",),
)
