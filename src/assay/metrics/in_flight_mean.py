"""How many requests are under way at a time?

in_flight_mean = time that requests spent between being due and their end, inside of the measured window / its length.  A
request that failed was under way until it failed; one that was never sent was not.  The left side of Little's law: see
little_ratio.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.in_flight import both_sides
from assay.metrics.rates import quotients
from assay.units import REQUESTS


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The mean number per configuration."""
    rows = both_sides(measured).select("launch", pl.col("area_s").alias("above"), pl.col("seconds").alias("below"))
    return quotients(
        measured,
        rows,
        unit=REQUESTS,
        name="in_flight_mean",
        aggregate="time under way inside of the window / its length",
        missing="no request was under way",
    )


METRIC = Metric(
    name="in_flight_mean",
    title="Requests in flight",
    unit=REQUESTS,
    kind="level",
    better="neither",
    dimension="performance",
    formula="time under way inside of the window / window",
    compute=compute,
    about=("serving",),
)
