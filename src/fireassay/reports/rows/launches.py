"""Which launches were made, and how did each end?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from fireassay.estimates.format import reading
from fireassay.frames.noise import disturbances
from fireassay.frames.record_data import RecordData
from fireassay.reports.rows.types import LaunchRow
from fireassay.units import NS_PER_S


def launches(measured: RecordData, labels: Mapping[str, str]) -> tuple[LaunchRow, ...]:
    """Every launch in start order; `labels`: configuration key -> label."""
    steps = measured.global_steps.group_by("launch").agg(pl.len().alias("steps"), pl.col("step_s").median().alias("step_s"))
    steady = measured.steady_steps.group_by("launch").agg(pl.col("step_s").median().alias("steady_s"))
    joined = measured.table("launches").join(steps, on="launch", how="left").join(steady, on="launch", how="left").sort("launch")
    disturbed = disturbances(measured)
    return tuple(_launch_row(row, measured, labels, disturbed.get(row["launch"], {})) for row in joined.iter_rows(named=True))


def _launch_row(row: Mapping[str, Any], measured: RecordData, labels: Mapping[str, str], disturbed: Mapping[str, str]) -> LaunchRow:
    wall_s = (row["end_ns"] - row["begin_ns"]) / NS_PER_S
    step_s = row["steady_s"] if row["steady_s"] is not None else row["step_s"]
    state = measured.steady.get(row["launch"]) if row["steps"] else None
    return LaunchRow(
        number=row["launch"],
        configuration=row["configuration"],
        label=labels.get(row["configuration"], row["configuration"]),
        workers=row["workers"],
        block=row["block"],
        order=row["order"],
        attempt=row["attempt"],
        role=row["role"],
        seed=row["seed"],
        begin_utc=row["begin_utc"],
        status=row["status"],
        reason=row["reason"],
        exit_code=row["exit_code"],
        restarts=row["restarts"],
        wall_s=wall_s,
        wall=reading(wall_s, "s"),
        steps=row["steps"] or 0,
        step_s=step_s,
        step=reading(step_s, "s"),
        warmup=state.warmup if state else None,
        shape=state.kind if state else "",
        disturbed=disturbed,
    )
