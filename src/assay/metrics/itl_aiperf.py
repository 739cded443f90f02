"""What would AIPerf report as inter-token latency?

itl_aiperf = mean of (last chunk with content or reasoning - first) / (n - 1), over the answered requests of our measured
window (`assay.metrics.peers`). A mean of means per request.  n by the tokenizer, else by usage. For comparison with numbers
from elsewhere only; our own definition is another, and starts when a request was due.
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
    return mean(measured, "itl_aiperf")


METRIC = Metric(
    name="itl_aiperf",
    title="Inter-token latency as AIPerf defines it",
    unit=SECONDS,
    kind="level",
    better="lower",
    dimension="performance",
    formula="mean of (last chunk with content or reasoning - first) / (n - 1)",
    compute=compute,
    about=("serving",),
)
