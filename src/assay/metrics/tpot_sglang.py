"""What would SGLang's benchmark report as time per output token?

tpot_sglang = mean of (last line - first chunk with content or reasoning) / (n - 1), over the answered requests of our
measured window (`assay.metrics.peers`). The last line is the usage or the end mark, after the last token.  n by usage, else
the number that was asked for. For comparison with numbers from elsewhere only; our own definition is another, and starts
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
    return mean(measured, "tpot_sglang")


METRIC = Metric(
    name="tpot_sglang",
    title="Time per output token as SGLang defines it",
    unit=SECONDS,
    kind="level",
    better="lower",
    dimension="performance",
    formula="mean of (last line - first chunk with content or reasoning) / (n - 1)",
    compute=compute,
    about=("serving",),
)
