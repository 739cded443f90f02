"""What would guidellm report as time to first token?

ttft_guidellm = mean of first chunk with text - sent, over the answered requests of our measured window
(`assay.metrics.peers`). Content, reasoning and tool calls are text.  Its wall clock, which may be set back, is not
reproduced. For comparison with numbers from elsewhere only; our own definition is another, and starts when a request was
due.
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
    return mean(measured, "ttft_guidellm")


METRIC = Metric(
    name="ttft_guidellm",
    title="Time to first token as guidellm defines it",
    unit=SECONDS,
    kind="level",
    better="lower",
    dimension="performance",
    formula="mean of first chunk with text - sent",
    compute=compute,
    about=("serving",),
)
