"""How much load was asked for, requests per second?

offered_rate = requests that were due in the measured window / its length, whatever became of them.  Of n equal gaps the
window holds n requests. In a closed loop the answers decide when requests are due, so that it cannot tell more than
request_throughput there.
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
    found = within(measured, pl.col("scheduled_ns"))
    return per_second(
        measured, found, unit=PER_SECOND, name="offered_rate", aggregate="requests due in the window", missing="no request was due"
    )


METRIC = Metric(
    name="offered_rate",
    title="Offered rate",
    unit=PER_SECOND,
    kind="rate",
    better="neither",
    dimension="performance",
    formula="requests due in the window / window",
    compute=compute,
    about=("serving",),
)
