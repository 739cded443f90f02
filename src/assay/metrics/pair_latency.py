"""How long does a small message take between the two ranks that are farthest apart?

pair_latency = the largest latency of an ordered pair (half of the median round trip of eight bytes); over launches Student t on
logarithms.  Unit: seconds.  Source: the exchanges of `assay.instruments.collectives.pairs`.  The matrix holds every pair.
Cannot tell: which pair it is (not always the same); the latency of one direction alone.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Value
from assay.frames.links.pairs import farthest
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.units import SECONDS


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """One estimate per worker count."""
    return farthest(measured, pl.col("latency_s").max(), unit=SECONDS, name="pair_latency", aggregate="largest latency of a pair")


METRIC = Metric(
    name="pair_latency",
    title="Latency of the farthest pair",
    unit=SECONDS,
    kind="level",
    better="lower",
    dimension="performance",
    formula="max over ordered pairs of (median round trip) / 2",
    compute=compute,
    about=("collectives",),
)
