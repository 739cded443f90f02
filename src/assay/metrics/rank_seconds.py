"""Where did the rank-seconds go?  Shared by the goodput metrics."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from assay.metrics.estimate import Absent, Value
from assay.metrics.measured import Measured, effective_steps
from assay.metrics.per_launch import no_launch, of_interval
from assay.metrics.recovery import NO_FAULT, struck_launches
from assay.metrics.step_time import MARK_STEPS
from assay.stats.means import quotient
from assay.units import FRACTION, NS_PER_S

# category -> what it is; `partition` gives the share of each, and they sum to 1
CATEGORIES = {
    "productive": "steps that counted, less data wait and checkpoints",
    "data_stall": "waiting for a batch inside a step",
    "checkpoint": "saving and loading checkpoints",
    "evaluation": "scoring held-out examples",
    "recompute": "steps done again after a restart",
    "other": "start-up, rendezvous, imports, restart, idle: everything the script did not mark",
}


def partition(measured: Measured, role: str) -> pl.DataFrame:
    """(launch, configuration, workers, wall_s, one column of rank-seconds per category) of a role's launches.

    `timed`: the successful ones; `fault`: those in which a fault struck.
    """
    launches = measured.timed if role == "timed" else struck_launches(measured)
    wall = ((pl.col("end_ns") - pl.col("begin_ns")) / NS_PER_S).alias("wall_s")
    base = launches.select("launch", "configuration", "workers", "block", wall)
    for part in (_steps(measured), _events(measured)):
        base = base.join(part, on="launch", how="left")
    named = [name for name in CATEGORIES if name != "other"]
    filled = base.with_columns(pl.col(name).fill_null(0.0) for name in named)
    spent = pl.sum_horizontal(*(pl.col(name) for name in named))
    return filled.with_columns(other=pl.col("workers") * pl.col("wall_s") - spent).sort("launch")


def _steps(measured: Measured) -> pl.DataFrame:
    """Rank-seconds of the steps that counted, and of those that were done again."""
    pause = pl.col("checkpoint_ns").fill_null(0)
    own = pl.col("end_ns") - pl.col("begin_ns") - pause
    data = pl.col("data_ns").fill_null(0)
    every = measured.table("steps")
    total = every.group_by("launch").agg((own.sum() / NS_PER_S).alias("all_steps"))
    counted = (
        effective_steps(every)
        .group_by("launch")
        .agg(
            ((own - data).sum() / NS_PER_S).alias("productive"),
            (data.sum() / NS_PER_S).alias("data_stall"),
        )
    )
    both = counted.join(total, on="launch")
    redone = (pl.col("all_steps") - pl.col("productive") - pl.col("data_stall")).alias("recompute")
    return both.with_columns(redone).drop("all_steps")


def _events(measured: Measured) -> pl.DataFrame:
    """Rank-seconds of marked checkpoints and evaluations."""
    kinds = {"checkpoint_save": "checkpoint", "checkpoint_load": "checkpoint", "evaluation": "evaluation"}
    events = measured.table("events").filter(pl.col("kind").is_in(list(kinds)) & pl.col("duration_ns").is_not_null())
    named = events.with_columns(pl.col("kind").replace_strict(kinds, return_dtype=pl.String).alias("category"))

    def seconds(category: str) -> pl.Expr:
        return (pl.col("duration_ns").filter(pl.col("category") == category).sum() / NS_PER_S).alias(category)

    return named.group_by("launch").agg(seconds("checkpoint"), seconds("evaluation"))


def goodput(measured: Measured, role: str, name: str) -> Mapping[str, Value]:
    """Productive share per configuration over the launches of a role."""
    parts = partition(measured, role)
    marked = set(measured.table("steps")["launch"].unique().to_list())
    return {
        configuration: _one(measured, parts, marked, role, name, configuration)
        for configuration in measured.configurations
    }


def _one(measured: Measured, parts: pl.DataFrame, marked: set[int], role: str, name: str, configuration: str) -> Value:
    own = parts.filter(pl.col("configuration") == configuration)
    if own.height == 0:
        return no_launch(configuration) if role == "timed" else NO_FAULT
    own = own.filter(pl.col("launch").is_in(list(marked)) & (pl.col("wall_s") > 0.0))  # a skipped launch took no time
    if own.height == 0:
        return Absent(reason="not_measured", detail=MARK_STEPS)
    whole = own["workers"] * own["wall_s"]
    shares = (own["productive"] / whole).to_list()
    return of_interval(
        quotient(own["productive"].to_list(), whole.to_list(), measured.confidence), shares, measured.confidence,
        unit=FRACTION, name=name, n_trials=len(shares), tags="agg:productive share of workers x wall time|ci:t-quotient",
        method=f"sum of productive rank-seconds / sum of workers x wall time over {len(shares)} launches, Student t",
    )  # fmt: skip
