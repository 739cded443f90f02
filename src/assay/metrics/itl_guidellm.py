"""What would guidellm report as inter-token latency?

itl_guidellm = mean of (last chunk with text - first) / (n - 1), over the answered requests of our measured window
(`assay.metrics.peers`). A mean of means per request; its distribution says nothing about single gaps.  n by usage, else
chunks. For comparison with numbers from elsewhere only; our own definition is another, and starts when a request was due.
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
    return mean(measured, "itl_guidellm")


METRIC = Metric(
    name="itl_guidellm",
    title="Inter-token latency as guidellm defines it",
    unit=SECONDS,
    kind="level",
    better="lower",
    dimension="performance",
    formula="mean of (last chunk with text - first) / (n - 1)",
    compute=compute,
    about=("serving",),
)
