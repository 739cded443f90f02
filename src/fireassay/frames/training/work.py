"""How much useful work did a launch do?

As declared by probe.useful_work(n); otherwise the items of all ranks in the steps that finally counted: a step repeated after
a restart counts once.

How long does a unit of work take in each launch, by steady steps or wall time?

What are the steady step times of each timed launch, in order?

What is the loss of each step, averaged over the ranks?
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fireassay.estimates.over_launches import Series
from fireassay.frames.record_data import RecordData, effective_steps
from fireassay.frames.record_tables import once_per_record

UNCOUNTED = "the script did not count its work; call probe.log(items=n) in every step or probe.useful_work(n)"


def work_per_launch(measured: RecordData) -> pl.DataFrame:
    """(launch, value) of every launch with known work."""
    counted = measured.global_steps.filter(pl.col("items").is_not_null()).group_by("launch").agg(pl.col("items").sum().alias("counted"))
    declared = (
        measured.table("events").filter(pl.col("kind") == "useful_work").group_by("launch").agg(pl.col("value").max().alias("declared"))
    )
    joined = counted.join(declared, on="launch", how="full", coalesce=True)
    return joined.select("launch", pl.coalesce("declared", "counted").alias("value"))


def time_basis(measured: RecordData) -> str:
    """The compared time: step if every configuration with launches has steps, unless the spec says wall."""
    requested = measured.experiment.scaling.time
    if requested != "auto":
        return requested
    launches = measured.timed["launch"]
    with_steps = set(measured.global_steps["launch"].unique().to_list())
    return "step" if len(launches) > 0 and set(launches.to_list()) <= with_steps else "wall"


@once_per_record
def seconds_per_work(measured: RecordData) -> pl.DataFrame:
    """(launch, value): median steady step time / items per step; / `declared_work` if not every launch counts items."""
    steps = measured.steady_steps.join(measured.timed.select("launch", "workers"), on="launch")
    per_item = steps["items"].null_count() == 0 if steps.height else False
    work = pl.col("items").median() if per_item else declared_work(measured).first()
    return steps.group_by("launch").agg((pl.col("step_s").median() / work).alias("value"))


def wall_seconds(measured: RecordData) -> pl.DataFrame:
    """(launch, value in seconds) of the timed launches."""
    return measured.timed.select("launch", ((pl.col("end_ns") - pl.col("begin_ns")) / 1e9).alias("value"))


def wall_per_work(measured: RecordData) -> pl.DataFrame:
    """(launch, value): wall time of the launch / its work; / `declared_work` if not every launch counted any."""
    work = measured.timed.select("launch", declared_work(measured).alias("work"))
    counted = work_per_launch(measured).rename({"value": "work"}).filter(pl.col("work") > 0)
    if set(work["launch"].to_list()) <= set(counted["launch"].to_list()):
        work = counted
    return wall_seconds(measured).join(work, on="launch").select("launch", pl.col("value") / pl.col("work"))


def declared_work(measured: RecordData) -> pl.Expr:
    """The work implied by the declared mode: the same everywhere (strong), in proportion to the workers (weak)."""
    return pl.col("workers").cast(pl.Float64) if measured.mode == "weak" else pl.lit(1.0)


MARK_STEPS = "the script did not mark its steps, and no torch optimizer stepped in the started process; iterate over probe.steps(loader)"


def steady_series(measured: RecordData) -> dict[str, Series]:
    """Per configuration: the steady step times of every timed launch in order, launches by block; [] if none has steps."""
    series: dict[str, list[NDArray[np.float64]]] = {configuration: [] for configuration in measured.configurations}
    groups = measured.steady_steps.sort("block", "launch", "step").partition_by("launch", maintain_order=True)
    for group in groups:
        series[group["configuration"][0]].append(group["step_s"].to_numpy())
    return dict(series)


def loss_curves(measured: RecordData) -> pl.DataFrame:
    """(launch, configuration, block, step, loss) of the timed launches; mean over ranks, null if one of them has none."""
    losses = measured.table("fingerprints").filter((pl.col("what") == "loss") & pl.col("value").is_not_null())
    means = effective_steps(losses).group_by("launch", "step").agg(pl.col("value").sort().mean().alias("loss"))
    return means.join(measured.timed.select("launch", "configuration", "block"), on="launch").sort("launch", "step")
