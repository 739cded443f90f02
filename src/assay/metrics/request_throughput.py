"""How many requests are answered per second?

request_throughput = answers that ended in the measured window / its length: answered requests only, warm-up requests that
end in the window included, drained ones excluded, so that ramp and drain neither add nor take. It cannot tell how long the
answers were: see output_throughput.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.frames.serving.requests import ENDED
from assay.metrics.base import Metric, Results
from assay.metrics.rates import per_second, within
from assay.units import PER_SECOND


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Amount over the window's length, per configuration."""
    found = within(measured, ENDED, pl.col("ok"))
    return per_second(
        measured,
        found,
        unit=PER_SECOND,
        name="request_throughput",
        aggregate="answers that ended in the window",
        missing="no request was answered",
    )


METRIC = Metric(
    name="request_throughput",
    title="Request throughput",
    unit=PER_SECOND,
    kind="rate",
    better="higher",
    dimension="performance",
    formula="answers that ended in the window / window",
    compute=compute,
    about=("serving",),
)
