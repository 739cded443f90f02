"""Does Little's law hold for the requests that were written down?

little_ratio = rate at which requests became due x mean time from being due to their end, of those due in the measured
window / mean number under way in it: L = lambda W (Operations Research 9, 1961; `assay.stats.models.queueing`).  1 in a stable
system with a long window; below 1 more flowed in before the window than was left at its end, above 1 a queue was growing.
It cannot tell which of a record's rows are missing.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.in_flight import both_sides
from assay.metrics.rates import quotients
from assay.units import RATIO


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The ratio of both sides per configuration."""
    rows = both_sides(measured).select("launch", pl.col("latency_s").alias("above"), pl.col("area_s").alias("below"))
    return quotients(
        measured,
        rows,
        unit=RATIO,
        name="little_ratio",
        aggregate="rate x mean time / mean number under way",
        missing="no request was under way",
    )


METRIC = Metric(
    name="little_ratio",
    title="Little's law",
    unit=RATIO,
    kind="ratio",
    better="neither",
    dimension="performance",
    formula="rate x mean latency / mean number in flight",
    compute=compute,
    about=("serving",),
)
