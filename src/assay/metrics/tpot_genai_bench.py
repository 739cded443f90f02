"""What would genai-bench report as time per output token?

tpot_genai_bench = mean of (last line - first chunk with content or reasoning) / (n - 1), over the answered requests of our
measured window (`assay.metrics.peers`). Outputs of less than 1 ms are left out.  n by usage, else by the tokenizer. For
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
    return mean(measured, "tpot_genai_bench")


METRIC = Metric(
    name="tpot_genai_bench",
    title="Time per output token as genai-bench defines it",
    unit=SECONDS,
    kind="level",
    better="lower",
    dimension="performance",
    formula="mean of (last line - first chunk with content or reasoning) / (n - 1)",
    compute=compute,
    about=("serving",),
)
