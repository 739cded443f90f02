"""What do the ranks of one launch do in a step, and where does their communication lie?  Folds small enough to be drawn.

`phases`: each rank's median steady step of the largest worker count, in parts; of many ranks the slowest, the fastest and the middle.
`timeline`: one step of usual length on those ranks, with the collectives that were seen in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import polars as pl

from assay.metrics.clock_offsets import on_one_clock
from assay.metrics.measured import Measured, effective_steps
from assay.units import NS_PER_S

MOST_RANKS: Final = 8
PARTS: Final = ("data", "forward", "backward", "optimizer")


@dataclass(frozen=True, kw_only=True)
class RankPhases:
    """The median step of a rank over the timed launches of a configuration, seconds; None: the phase was not seen."""

    configuration: str
    rank: int
    step_s: float
    parts_s: tuple[float | None, ...]  # in the order of PARTS
    place: str  # slowest, fastest or ""


@dataclass(frozen=True, kw_only=True)
class Span:
    """Something that lasted, seconds since the step began on the first rank."""

    rank: int
    what: str  # a phase, or "communication"
    begin_s: float
    end_s: float


@dataclass(frozen=True, kw_only=True)
class StepTimeline:
    """One step of usual length of one launch."""

    launch: int
    configuration: str
    step: int
    spans: tuple[Span, ...]
    collectives: int  # of all ranks that are shown


def phases(measured: Measured) -> tuple[RankPhases, ...]:
    """The ranks of the largest worker count that has steady steps and more than one rank; at most `MOST_RANKS`."""
    if measured.subject != "training":
        return ()
    for configuration, level in sorted(
        zip(measured.configurations, measured.levels, strict=True), key=lambda one: -one[1]
    ):
        if level > 1 and (found := _phases(measured, configuration)):
            return found
    return ()


def _phases(measured: Measured, configuration: str) -> tuple[RankPhases, ...]:
    steady = measured.steady_steps.filter(pl.col("configuration") == configuration).select("launch", "step")
    own = pl.col("end_ns") - pl.col("begin_ns") - pl.col("checkpoint_ns").fill_null(0)
    rows = effective_steps(measured.table("steps")).join(steady, on=["launch", "step"], how="semi")
    medians = (
        rows.group_by("rank")
        .agg(
            own.median().alias("step_s") / NS_PER_S,
            *((pl.col(f"{part}_ns").median() / NS_PER_S).alias(part) for part in PARTS),
        )
        .sort("step_s", "rank")
        .to_dicts()
    )
    if len(medians) < 2:
        return ()
    kept = _spread(medians)
    marks = {medians[0]["rank"]: "fastest", medians[-1]["rank"]: "slowest"}
    return tuple(
        RankPhases(
            configuration=configuration, rank=int(row["rank"]), step_s=row["step_s"], parts_s=tuple(row[part] for part in PARTS),
            place=marks.get(row["rank"], ""),
        )
        for row in sorted(kept, key=lambda row: row["rank"])
    )  # fmt: skip


def _spread(rows: list[dict[str, float]]) -> list[dict[str, float]]:
    """Of many ordered rows so many, evenly, with both ends."""
    if len(rows) <= MOST_RANKS:
        return rows
    return [rows[round(place * (len(rows) - 1) / (MOST_RANKS - 1))] for place in range(MOST_RANKS)]


def timeline(measured: Measured, ranks: tuple[RankPhases, ...]) -> StepTimeline | None:
    """The steady step of the shown ranks whose length is the median's, in the launch that has most collectives; None without any."""
    if not ranks or measured.table("collectives").height == 0:
        return None
    clock = on_one_clock(measured)  # ranks of several hosts stand in one picture
    configuration, shown = ranks[0].configuration, [one.rank for one in ranks]
    apart = pl.col("launch").is_in(list(clock.troubles))
    steady = measured.steady_steps.filter((pl.col("configuration") == configuration) & ~apart)
    measured = clock.measured
    calls = measured.table("collectives").filter(
        pl.col("rank").is_in(shown) & pl.col("end_ns").is_not_null() & pl.col("step").is_not_null()
    )
    seen = steady.join(calls.select("launch", "step").unique(), on=["launch", "step"], how="semi")
    if seen.height == 0:
        return None
    middle = seen["step_s"].median()
    row = seen.with_columns(off=(pl.col("step_s") - middle).abs()).sort("off", "launch", "step").row(0, named=True)
    return _timeline(measured, calls, row, shown)


def _timeline(measured: Measured, calls: pl.DataFrame, row: dict[str, object], shown: list[int]) -> StepTimeline:
    here = (pl.col("launch") == row["launch"]) & (pl.col("step") == row["step"])
    steps = effective_steps(measured.table("steps")).filter(here & pl.col("rank").is_in(shown))
    begin = int(steps["begin_ns"].min())  # type: ignore[arg-type]
    spans = [span for one in steps.iter_rows(named=True) for span in _laid(one, begin)]
    own = calls.filter(here)
    spans += [
        Span(rank=rank, what="communication", begin_s=(a - begin) / NS_PER_S, end_s=(b - begin) / NS_PER_S)
        for rank, a, b in own.select("rank", "begin_ns", "end_ns").sort("rank", "begin_ns").iter_rows()
    ]
    return StepTimeline(
        launch=int(str(row["launch"])), configuration=str(row["configuration"]), step=int(str(row["step"])), spans=tuple(spans),
        collectives=own.height,
    )  # fmt: skip


def _laid(step: dict[str, int | None], begin: int) -> list[Span]:
    """The phases of a rank's step one after the other from its begin: their lengths are measured, their gaps are not."""
    at, found = int(step["begin_ns"] or 0), []
    for part in PARTS:
        length = step[f"{part}_ns"]
        if length:
            rank = int(step["rank"] or 0)
            found.append(
                Span(rank=rank, what=part, begin_s=(at - begin) / NS_PER_S, end_s=(at + length - begin) / NS_PER_S)
            )
            at += length
    return found
