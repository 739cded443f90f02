"""How much of the load did the client really send, requests per second?

achieved_rate = requests sent in the measured window / its length.  Below offered_rate the client did not keep up, or ran
out of connections: the audit send_lag invalidates a record where it falls short by more than serving.client.least_achieved.
It cannot tell whether the server would have kept up with more.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.rates import per_second, within
from assay.units import PER_SECOND


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Amount over the window's length, per configuration."""
    found = within(measured, pl.col("sent_ns"))
    return per_second(
        measured, found, unit=PER_SECOND, name="achieved_rate", aggregate="requests sent in the window", missing="no request was sent"
    )


METRIC = Metric(
    name="achieved_rate",
    title="Achieved rate",
    unit=PER_SECOND,
    kind="rate",
    better="neither",
    dimension="performance",
    formula="requests sent in the window / window",
    compute=compute,
    about=("serving",),
)
