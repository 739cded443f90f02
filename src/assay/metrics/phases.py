"""How is one phase of the step folded?  Shared by the five phase metrics."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from assay.metrics.estimate import Absent, Value
from assay.metrics.measured import Measured
from assay.metrics.per_launch import average, no_launch
from assay.units import SECONDS


def phase_time(measured: Measured, phase: str, *, missing: str) -> Mapping[str, Value]:
    """One phase per configuration; Absent where no step of it was marked. Phases may be 0, so no logarithm; none is less."""
    per_launch = measured.steady_steps.group_by("launch").agg(
        pl.col(f"{phase}_s").median().alias("value"), pl.col(f"{phase}_s").count().alias("steps")
    )
    joined = measured.timed.join(per_launch, on="launch", how="left").sort("block")
    return {name: _estimate(measured, joined, name, phase, missing) for name in measured.configurations}


def _estimate(measured: Measured, joined: pl.DataFrame, configuration: str, phase: str, missing: str) -> Value:
    rows = joined.filter(pl.col("configuration") == configuration)
    if rows.height == 0:
        return no_launch(configuration)
    present = rows.filter(pl.col("value").is_not_null())
    if present.height == 0:
        return Absent(reason="not_measured", detail=missing)
    found = average(
        present["value"].to_list(), measured.confidence, unit=SECONDS, name=f"{phase}_time",
        aggregate=f"median over steady steps of the slowest rank's {phase} phase", n_trials=int(present["steps"].sum()),
    )  # fmt: skip
    # what is left of a step is below 0 where its phases were marked as longer than itself: that stays to be seen
    return replace(found, low=max(found.low, 0.0)) if found.value >= 0.0 and math.isfinite(found.low) else found
