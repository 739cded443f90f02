"""What would inference-perf report as time to first token?

ttft_inference_perf = mean of first chunk with content - sent, over the answered requests of our measured window
(`assay.metrics.peers`). Reasoning is no token (its issue 559). For comparison with numbers from elsewhere only; our own
definition is another, and starts when a request was due.
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
    return mean(measured, "ttft_inference_perf")


METRIC = Metric(
    name="ttft_inference_perf",
    title="Time to first token as inference-perf defines it",
    unit=SECONDS,
    kind="level",
    better="lower",
    dimension="performance",
    formula="mean of first chunk with content - sent",
    compute=compute,
    about=("serving",),
)
