"""What would genai-bench report as time to first token?

ttft_genai_bench = mean of first chunk with content or reasoning - sent, over the answered requests of our measured window
(`assay.metrics.peers`). The clock starts before a new connection is set up, as it opens one for every request. For
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
    return mean(measured, "ttft_genai_bench")


METRIC = Metric(
    name="ttft_genai_bench",
    title="Time to first token as genai-bench defines it",
    unit=SECONDS,
    kind="level",
    better="lower",
    dimension="performance",
    formula="mean of first chunk with content or reasoning - sent",
    compute=compute,
    about=("serving",),
)
