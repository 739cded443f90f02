"""What does an answered request cost?

cost_per_request = replicas x price x window / answers that ended in it.  The price of a worker-hour ([prices], with its
date and source) is that of a replica; ramp and drain are neither paid for nor credited, so that the length of a launch does
not change it.  It cannot tell what idle or reserved replicas cost beside the load.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Value
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.load_cost import dollars_per
from assay.metrics.rates import within
from assay.units import USD_PER_REQUEST


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The quotient per configuration."""
    amount = within(measured, pl.coalesce("last_token_ns", "done_ns"), pl.col("ok"))
    return dollars_per(
        measured,
        amount,
        unit=USD_PER_REQUEST,
        name="cost_per_request",
        aggregate="replicas x price x window / answers that ended in it",
        missing="no request was answered",
    )


METRIC = Metric(
    name="cost_per_request",
    title="Cost per request",
    unit=USD_PER_REQUEST,
    kind="rate",
    better="lower",
    dimension="cost",
    formula="replicas x price x window / answers that ended in it",
    compute=compute,
    about=("serving",),
)
