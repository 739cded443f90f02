"""How many requests per second meet every objective?

goodput = requests that met every objective and ended in the half-open measured window / its length (METRICS.md,
"Serving"); a failed request met none. Never above request_throughput, which counts the answers that ended in the same window.
An objective that an answer leaves open (time per token of a single token) is met; a first token that never came is not. It
cannot tell whether the answers were right: see quality.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.frames.serving.objectives import no_objectives
from assay.frames.serving.requests import ENDED
from assay.metrics.base import Metric, Results
from assay.metrics.rates import all_of, per_second, within
from assay.units import PER_SECOND


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Good requests over the window's length, per configuration."""
    if (why := no_objectives(measured)) is not None:
        return all_of(measured, why)
    good = within(measured, ENDED, pl.col("met"))
    return per_second(
        measured,
        good,
        unit=PER_SECOND,
        name="goodput",
        aggregate="requests that ended in the window and met every objective",
        missing="no request was answered",
    )


METRIC = Metric(
    name="goodput",
    title="Goodput",
    unit=PER_SECOND,
    kind="rate",
    better="higher",
    dimension="performance",
    formula="requests that ended in the window and met every objective / window",
    compute=compute,
    about=("serving",),
    primary=True,
)
