"""How much of a step is assay's own cost?

instrument_overhead = the probe's self-measured cost per step / step_time.  The probe measures itself on marked steps
of its own before training begins (telemetry, device "probe", counter "cost_per_step"); of an unmodified script the hooks
say the median over its steps of what they took, and the larger of both counts.  Paired runs with and without
assay are in benchmarks/.  It does not see disturbance of caches or of other ranks.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.estimates.estimate import Value
from assay.frames.per_launch import from_frame
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.units import FRACTION, NS_PER_S


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Share of the step per configuration."""
    telemetry = measured.table("telemetry")
    own = telemetry.filter((pl.col("device") == "probe") & (pl.col("counter") == "cost_per_step"))
    cost = own.group_by("launch").agg((pl.col("value").max() / NS_PER_S).alias("cost_s"))
    steps = measured.steady_steps.group_by("launch").agg(pl.col("step_s").median().alias("median_s"))
    share = cost.join(steps, on="launch").select("launch", (pl.col("cost_s") / pl.col("median_s")).alias("value"))
    return from_frame(
        measured,
        share.filter(pl.col("value") > 0),
        unit=FRACTION,
        name="instrument_overhead",
        trials="",
        missing="no steps were seen, so that there is nothing of which it could be a share",
        aggregate="slowest rank's self-measured cost per step / median step time",
    )


METRIC = Metric(
    name="instrument_overhead",
    title="Cost of measuring",
    unit=FRACTION,
    kind="ratio",
    better="lower",
    dimension="performance",
    formula="probe cost per step / step_time",
    compute=compute,
)
