"""How much work is done per second in steady state?

throughput = sum of items / sum of step times over the steady steps of a launch (never a mean of rates:
Hoefler & Belli rule 3).  Items are those of all ranks.  It leaves start-up, evaluation and checkpoints out.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Value
from assay.frames.per_launch import from_frame
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.units import PER_SECOND


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Items per second per launch, then over launches."""
    per_launch = (
        measured.steady_steps.filter(pl.col("items").is_not_null())
        .group_by("launch")
        .agg((pl.col("items").sum() / pl.col("step_s").sum()).alias("value"), pl.len().alias("steps"))
    )
    return from_frame(
        measured,
        per_launch,
        unit=PER_SECOND,
        name="throughput",
        trials="steps",
        missing="the script did not say how many items a step works on; call probe.log(items=n)",
        aggregate="items of all ranks / time of the steady steps",
    )


METRIC = Metric(
    name="throughput",
    title="Throughput",
    unit=PER_SECOND,
    kind="rate",
    better="higher",
    dimension="performance",
    formula="sum items / sum step_time over steady steps",
    compute=compute,
    primary=True,
)
