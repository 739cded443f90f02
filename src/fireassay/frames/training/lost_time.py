"""Where does the time of a step go that a perfect split of the work would not need?

A step counts as long as its slowest rank, so its mean is a sum:

    data          waiting for a batch
    computing     forward, backward and optimizer, less the exposed communication in them
    transfer      exposed communication that moves data
    waiting       exposed communication that waits for slower ranks
    between       time in no phase
    uneven        the slowest rank's step beyond the mean rank's: the ranks take turns at being slow

The first five are means over ranks and steady steps. Every part is scaled by median / mean of its launch, so that the parts add up
to the launch's step time. Transfer is taken for hidden before waiting, so waiting is at least what is shown if computing hides
communication. Without phases, computing contains the time between; without exposed communication it contains both kinds of it.

How long do ranks wait for the one that saves a checkpoint?

A rank that saves alone is late at the next collective, and the others wait there. Their steps around a save (the step before it
and the next, for they may wait in either) are compared with their median step; the excess, at most the save's duration, is
waiting for it. Uses durations on one host only: no clocks are compared.
Cannot tell: the waiting in launches where every rank saves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl

from fireassay.frames.record_data import RecordData
from fireassay.frames.record_tables import once_per_record
from fireassay.units import NS_PER_S

PHASES: Final = ("data", "forward", "backward", "optimizer")


@dataclass(frozen=True, kw_only=True)
class StepParts:
    """The parts of a launch's step time, seconds; None: not known apart from computing."""

    step: float
    steps: int
    parts: Mapping[str, float | None]


@once_per_record
def step_parts(measured: RecordData) -> Mapping[int, StepParts]:
    """launch -> the parts of its step, for timed launches with steady steps. Memoised."""
    if not measured.steady_steps.height:
        return {}
    exposed, transfer = _exposed(measured), _transfer(measured)
    rows = _ranks(measured).join(_slowest(measured), on="launch").iter_rows(named=True)
    return {row["launch"]: _parts(row, exposed.get(row["launch"]), transfer.get(row["launch"])) for row in rows}


def _ranks(measured: RecordData) -> pl.DataFrame:
    """(launch, rank_s, data_s, forward_s, ...): means over ranks and steady steps; null for a phase that some step lacks."""
    own = pl.col("end_ns") - pl.col("begin_ns") - pl.col("checkpoint_ns").fill_null(0)
    known = [
        pl.when(pl.col(f"{phase}_ns").null_count() == 0).then(pl.col(f"{phase}_ns").mean() / NS_PER_S).alias(f"{phase}_s")
        for phase in PHASES
    ]
    steps = measured.effective_steps
    steady = steps.join(measured.steady_steps.select("launch", "step"), on=["launch", "step"], how="semi")
    return steady.group_by("launch").agg((own.mean() / NS_PER_S).alias("rank_s"), *known)


def _slowest(measured: RecordData) -> pl.DataFrame:
    """(launch, median_s, mean_s, steps) of the slowest rank of each step."""
    step = pl.col("step_s")
    return measured.steady_steps.group_by("launch").agg(
        step.median().alias("median_s"), step.mean().alias("mean_s"), pl.len().alias("steps"), pl.col("ranks").max().alias("ranks")
    )


def _exposed(measured: RecordData) -> Mapping[int, float]:
    """launch -> seconds; from its own steps if the method reads them, else the mean of the launches that it used."""
    values: dict[int, float] = {}
    for configuration, launches in measured.timed_by_block.items():
        method = measured.communicated.best(configuration)
        if method is None:
            continue
        ways = measured.communicated.ways.filter(
            (pl.col("configuration") == configuration) & (pl.col("method") == method) & pl.col("exposed_s").is_not_null()
        )
        own = dict(zip(ways["launch"], ways["exposed_s"], strict=True))
        mean = sum(own.values()) / len(own) if own else None
        values |= {launch: value for launch, _ in launches if (value := own.get(launch, mean)) is not None}
    return values


def _transfer(measured: RecordData) -> Mapping[int, float]:
    """launch -> median over steps of the mean over ranks, seconds."""
    per_step = measured.communicated.calls.group_by("launch", "step").agg(
        pl.when(pl.col("transfer_ns").null_count() == 0).then(pl.col("transfer_ns").mean()).alias("value")
    )
    folded = per_step.group_by("launch").agg((pl.col("value").median() / NS_PER_S).alias("value")).drop_nulls()
    return dict(zip(folded["launch"], folded["value"], strict=True))


def _parts(row: Mapping[str, float], exposed: float | None, transfer: float | None) -> StepParts:
    rank, data = row["rank_s"], row["data_s"] or 0.0
    alone = row["ranks"] == 1
    phases = [row[f"{phase}_s"] for phase in PHASES[1:]]
    communication = 0.0 if alone else exposed or 0.0
    inside = sum(phases) if None not in phases else rank - data  # without phases, all but the wait for data
    computing = max(inside - communication, 0.0)
    waiting = None if transfer is None else max(0.0, communication - transfer)
    parts = {
        "data": data if row["data_s"] is not None else None,
        "computing": computing,
        "waiting": 0.0 if alone else None if exposed is None else waiting,
        "transfer": 0.0 if alone else None if exposed is None else communication - (waiting or 0.0),
        "uneven": row["mean_s"] - rank,
        "between": rank - data - computing - communication,
    }
    scale = row["median_s"] / row["mean_s"] if row["mean_s"] > 0.0 else 1.0
    scaled = {name: None if value is None else value * scale for name, value in parts.items()}
    return StepParts(step=row["median_s"], steps=int(row["steps"]), parts=scaled)


_RANK = ("launch", "rank")


@dataclass(frozen=True, kw_only=True)
class SavingWait:
    """The cost of saving on some ranks to the others, over the timed launches of a configuration."""

    ranks: tuple[int, ...]  # that save
    saves: float  # per launch, mean
    save_s: float  # per save, mean
    share: float  # of the others' steps


@once_per_record
def saving_waits(measured: RecordData) -> Mapping[str, SavingWait]:
    """By configuration, if some ranks save and others do not."""
    beside = pl.col("detail").str.json_path_match("$.beside").is_not_null()
    reported = measured.table("events").filter((pl.col("kind") == "checkpoint_save") & ~beside)
    launches = measured.timed.filter(pl.col("workers") > 1).select("launch", "configuration", "workers")
    saves = (
        reported.join(launches, on="launch").group_by("launch", "configuration", "workers", "rank", "step").agg(pl.col("duration_ns").sum())
    )
    alone = saves.filter(pl.col("rank").n_unique().over("launch") < pl.col("workers"))
    if alone.height == 0:
        return {}
    waits = _waits(measured, alone)
    return {
        name: SavingWait(
            ranks=tuple(rows["rank"].unique().sort().to_list()),
            saves=rows.height / rows["launch"].n_unique(),
            save_s=float(rows["duration_ns"].mean()) / NS_PER_S,  # type: ignore[arg-type]
            share=waits[name],
        )
        for name in measured.configurations
        if (rows := alone.filter(pl.col("configuration") == name)).height and name in waits
    }


def _waits(measured: RecordData, saves: pl.DataFrame) -> dict[str, float]:
    """configuration -> the share of the non-saving ranks' step time that is waiting for a save."""
    step_ns = (pl.col("end_ns") - pl.col("begin_ns") - pl.col("checkpoint_ns").fill_null(0)).alias("own")
    steps = (
        measured.table("steps")
        .select(*_RANK, "step", step_ns)
        .join(saves.select("launch", "configuration").unique(), on="launch")
        .join(saves.select(_RANK).unique(), on=_RANK, how="anti")
    )
    excess = steps.with_columns(more=pl.col("own") - pl.col("own").median().over(_RANK))
    longest = saves.group_by("launch", "step").agg(pl.col("duration_ns").max())
    places = pl.concat([longest.with_columns(save="step", step=pl.col("step") - back) for back in (0, 1)])
    around = (
        excess.join(places, on=["launch", "step"])
        .group_by("configuration", *_RANK, "save")
        .agg(pl.col("more").sum(), pl.col("duration_ns").first())
    )
    waited = around.group_by("configuration").agg(pl.col("more").clip(0, pl.col("duration_ns")).sum())
    totals = steps.group_by("configuration").agg(pl.col("own").sum())
    return {name: more / all_of_it for name, more, all_of_it in waited.join(totals, on="configuration").iter_rows() if all_of_it > 0}
