"""How is one phase of the step folded?  Shared by the five phase metrics."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.metrics.communication import averaged
from assay.metrics.estimate import Absent, Value
from assay.metrics.measured import Measured
from assay.metrics.per_launch import no_launch


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
    return averaged(
        present["value"].to_list(), measured.confidence, name=f"{phase}_time",
        aggregate=f"median over steady steps of the slowest rank's {phase} phase", n_trials=int(present["steps"].sum()),
    )  # fmt: skip
