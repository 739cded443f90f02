"""In which steps was communication watched?

Hooks watch a steady DistributedDataParallel in some steps only; communication in the others is unknown, not 0.

`all_watched`: all steps watched on every rank. `watched`: those since the first unwatched one, if there are enough: before it all
steps are watched, and the begin of a launch would weigh four to eight times as much as the rest.
`named`: the name of these steps for a number's method.
`levelled`: subtracts the cost of watching; otherwise the end of watching every step would look like the end of a warm-up.
Source: `fireassay.instruments.hooks.watched_steps`; rows of `communication` whose method is unwatched.
"""

from __future__ import annotations

from typing import Final

import polars as pl

from fireassay.frames.record_tables import RecordTables

UNWATCHED: Final = "unwatched"
ENOUGH: Final = 16  # watched steps of a launch
LEVELLED: Final = 5  # watched steps that show the cost of watching; else those before do, from step `WARM` on
WARM: Final = 16
_STEP: Final = ["launch", "step"]


def unwatched(communication: pl.DataFrame) -> pl.DataFrame:
    """(launch, step) of the steps with unwatched communication on some rank."""
    missed = communication.filter(pl.col("method") == UNWATCHED)
    if not missed.height:
        return missed.select(_STEP)
    last = communication.join(missed.select(_STEP).unique(), on=_STEP, how="semi")  # the last version of repeated steps
    last = last.filter(pl.col("incarnation") == pl.col("incarnation").max().over(_STEP))
    return last.filter(pl.col("method") == UNWATCHED).select(_STEP).unique()


def all_watched(steps: pl.DataFrame, communication: pl.DataFrame) -> pl.DataFrame:
    """The rows of `steps` (launch, step, ...) with communication watched on every rank, and those outside of any step."""
    missed = unwatched(communication)
    return steps.join(missed, on=_STEP, how="anti") if missed.height else steps


def watched(steps: pl.DataFrame, communication: pl.DataFrame) -> pl.DataFrame:
    """The same, per launch only those since its first unwatched step, if these are at least `ENOUGH`."""
    missed = unwatched(communication)
    if not missed.height:
        return steps
    first = missed.group_by("launch").agg(pl.col("step").min().alias("_first"))
    settled = pl.col("step") >= pl.col("_first").fill_null(0)
    enough = pl.col("step").filter(settled).n_unique().over("launch") >= ENOUGH
    return steps.join(missed, on=_STEP, how="anti").join(first, on="launch", how="left").filter(settled | ~enough).drop("_first")


def named(measured: RecordTables, launches: pl.DataFrame) -> str:
    """The name of the steps behind the communication values of these launches."""
    missed = measured.once("launches with unwatched steps", _missed)
    return "steady steps" if missed.isdisjoint(launches["launch"]) else "watched steps"


def _missed(measured: RecordTables) -> frozenset[int]:
    return frozenset(measured.table("communication").filter(pl.col("method") == UNWATCHED)["launch"])


def levelled(steps: pl.DataFrame, communication: pl.DataFrame) -> pl.DataFrame:
    """`steps` (launch, step, step_s, ...) with watched steps shortened by the difference of the medians of both kinds, once both
    exist.
    """
    missed = unwatched(communication)
    if not missed.height:
        return steps
    marked = steps.join(missed.with_columns(_missed=pl.lit(value=True)), on=_STEP, how="left", maintain_order="left")
    flagged = marked.with_columns(pl.col("_missed").fill_null(value=False))
    after_miss = pl.col("step") >= pl.col("step").filter("_missed").min().over("launch")
    of_late = pl.col("step_s").filter(after_miss & ~pl.col("_missed"))
    of_early = pl.col("step_s").filter(~after_miss & (pl.col("step") >= WARM))
    usual = (
        pl.when(of_late.len().over("launch") >= LEVELLED).then(of_late.median().over("launch")).otherwise(of_early.median().over("launch"))
    )
    cost = usual - pl.col("step_s").filter("_missed").median().over("launch")
    less = pl.when(~pl.col("_missed") & cost.is_not_null()).then(pl.min_horizontal(cost, 0.5 * pl.col("step_s"))).otherwise(0.0)
    return flagged.with_columns(step_s=pl.col("step_s") - less).drop("_missed")
