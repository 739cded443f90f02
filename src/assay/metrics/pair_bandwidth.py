"""How many bytes per second pass between the two ranks whose link is slowest?

pair_bandwidth = the smallest (S2 - S1) / (T2 - T1) of an ordered pair; over launches Student t on logarithms.  Unit: bytes per second.
Source: the exchanges of `assay.instruments.collectives.pairs`.  The matrix holds every pair.
Cannot tell: which pair it is (not always the same); what several pairs at once would have.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Value
from assay.frames.links.pairs import BYTES_PER_SECOND, farthest
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """One estimate per worker count; pairs whose larger message took no longer are faster than any that is told."""
    return farthest(
        measured, pl.col("bandwidth").min(), unit=BYTES_PER_SECOND, name="pair_bandwidth", aggregate="smallest bandwidth of a pair"
    )


METRIC = Metric(
    name="pair_bandwidth",
    title="Bandwidth of the slowest pair",
    unit=BYTES_PER_SECOND,
    kind="level",
    better="higher",
    dimension="performance",
    formula="min over ordered pairs of (S2 - S1) / (T2 - T1)",
    compute=compute,
    about=("collectives",),
)
