"""How long do ranks wait for the one that saves a checkpoint?

A rank that saves alone is late at the next collective, and the others wait there. Their steps around a save (the step before it
and the next, for they may wait in either) are compared with their median step; the excess, at most the save's duration, is
waiting for it. Uses durations on one host only: no clocks are compared.
Cannot tell: the waiting in launches where every rank saves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from fireassay.frames.record_data import RecordData
from fireassay.units import NS_PER_S

_RANK = ("launch", "rank")


@dataclass(frozen=True, kw_only=True)
class SavingWait:
    """The cost of saving on some ranks to the others, over the timed launches of a configuration."""

    ranks: tuple[int, ...]  # that save
    saves: float  # per launch, mean
    save_s: float  # per save, mean
    share: float  # of the others' steps


def saving_waits(measured: RecordData) -> Mapping[str, SavingWait]:
    """By configuration, if some ranks save and others do not."""
    return measured.once("saving waits", _saving_waits)


def _saving_waits(measured: RecordData) -> dict[str, SavingWait]:
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
