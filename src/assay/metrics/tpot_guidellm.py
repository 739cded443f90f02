"""What would guidellm report as time per output token?

tpot_guidellm = mean of (last chunk with text - sent) / n, over the answered requests of our measured window
(`assay.metrics.peers`). It includes the time to the first token, and is about twice the others' on short outputs.  n by
usage, else chunks. For comparison with numbers from elsewhere only; our own definition is another, and starts when a
request was due.
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
    return mean(measured, "tpot_guidellm")


METRIC = Metric(
    name="tpot_guidellm",
    title="Time per output token as guidellm defines it",
    unit=SECONDS,
    kind="level",
    better="lower",
    dimension="performance",
    formula="mean of (last chunk with text - sent) / n",
    compute=compute,
    about=("serving",),
)
