"""Which share of the requests failed, and how?

error_rate = failed requests / requests due, in the measured window (METRICS.md, "Serving").  The method names the classes:
refused, 4xx, 5xx, reset, timeout, malformed, truncated, error (told inside of a 200), cancelled, unsent and lost (its
client process died). It cannot tell whether an answer was right, only that there was one.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.failures import by_class
from assay.metrics.latencies import counted
from assay.metrics.rates import shares, tally
from assay.units import FRACTION


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The share per configuration, with the classes of failures in the method."""
    rows = counted(measured)
    found = shares(
        measured, tally(rows, ~pl.col("ok")), name="error_rate", aggregate="failed requests / requests due", missing="no request was due"
    )
    return by_class(found, rows)


METRIC = Metric(
    name="error_rate",
    title="Failed requests",
    unit=FRACTION,
    kind="ratio",
    better="lower",
    dimension="reliability",
    formula="failed requests / requests due",
    compute=compute,
    about=("serving",),
    primary=True,
)
