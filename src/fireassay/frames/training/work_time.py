"""How long does a unit of work take in each launch, by steady steps or wall time?"""

from __future__ import annotations

import polars as pl

from fireassay.frames.record_data import RecordData


def time_basis(measured: RecordData) -> str:
    """The compared time: step if every configuration with launches has steps, unless the spec says wall."""
    requested = measured.experiment.scaling.time
    if requested != "auto":
        return requested
    launches = measured.timed["launch"]
    with_steps = set(measured.global_steps["launch"].unique().to_list())
    return "step" if len(launches) > 0 and set(launches.to_list()) <= with_steps else "wall"


def seconds_per_work(measured: RecordData) -> pl.DataFrame:
    """(launch, value): median steady step time / items per step; / `declared_work` if not every launch counts items."""
    return measured.once("seconds per work", _seconds_per_work)


def _seconds_per_work(measured: RecordData) -> pl.DataFrame:
    steps = measured.steady_steps.join(measured.timed.select("launch", "workers"), on="launch")
    per_item = steps["items"].null_count() == 0 if steps.height else False
    work = pl.col("items").median() if per_item else declared_work(measured).first()
    return steps.group_by("launch").agg((pl.col("step_s").median() / work).alias("value"))


def wall_seconds(measured: RecordData) -> pl.DataFrame:
    """(launch, value in seconds) of the timed launches."""
    return measured.timed.select("launch", ((pl.col("end_ns") - pl.col("begin_ns")) / 1e9).alias("value"))


def wall_per_work(measured: RecordData) -> pl.DataFrame:
    """(launch, value): wall time of the launch / `declared_work`."""
    work = measured.timed.select("launch", declared_work(measured).alias("work"))
    return wall_seconds(measured).join(work, on="launch").select("launch", pl.col("value") / pl.col("work"))


def declared_work(measured: RecordData) -> pl.Expr:
    """The work implied by the declared mode: the same everywhere (strong), in proportion to the workers (weak)."""
    return pl.col("workers").cast(pl.Float64) if measured.mode == "weak" else pl.lit(1.0)
