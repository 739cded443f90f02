"""How many bytes per second pass between the two ranks whose link is slowest?

pair_bandwidth = the smallest (S2 - S1) / (T2 - T1) of an ordered pair; over launches Student t on logarithms.  Unit: bytes per second.
Source: the exchanges of `assay.instruments.pairs`.  The matrix holds every pair.
Cannot tell: which pair it is (not always the same); what several pairs at once would have.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.metrics.base import Metric, Results
from assay.metrics.estimate import Value
from assay.metrics.measured import Measured
from assay.metrics.pairs import BYTES_PER_SECOND, farthest


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """One estimate per worker count; pairs whose larger message took no longer are faster than any that is told."""
    return farthest(
        measured,
        pl.col("bandwidth").min(),
        unit=BYTES_PER_SECOND,
        name="pair_bandwidth",
        aggregate="smallest bandwidth of a pair",
    )


METRIC = Metric(
    name="pair_bandwidth", title="Bandwidth of the slowest pair", unit=BYTES_PER_SECOND, kind="level", better="higher", dimension="performance",
    formula="min over ordered pairs of (S2 - S1) / (T2 - T1)", compute=compute, about=("collectives",),
)  # fmt: skip
