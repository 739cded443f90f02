"""What would SGLang's benchmark report as inter-token latency?

itl_sglang = mean of the gaps between chunks with content or reasoning, over the answered requests of our measured window
(`assay.metrics.peers`). A chunk of several tokens is one gap. For comparison with numbers from elsewhere only; our own
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
    return mean(measured, "itl_sglang", weight="gaps_sglang")


METRIC = Metric(
    name="itl_sglang",
    title="Inter-token latency as SGLang defines it",
    unit=SECONDS,
    kind="level",
    better="lower",
    dimension="performance",
    formula="mean of the gaps between chunks with content or reasoning",
    compute=compute,
    about=("serving",),
)
