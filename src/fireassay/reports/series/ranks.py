"""What do the ranks of one launch do in a step, and where does their communication lie?

`phases`: each rank's median steady step of the largest worker count, split into its own parts and exposed communication: in synchronous
training all wall times are alike, but not the ranks' own times. With many ranks, a selection from the fastest to the slowest.
`timeline`: one step of typical length on those ranks, with the recorded collectives, exposed or hidden.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import polars as pl

from fireassay.frames.clock_offsets import on_one_clock
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.communication.watched_steps import all_watched, watched
from fireassay.frames.training.rank_phases import BETWEEN
from fireassay.units import NS_PER_S

MOST_RANKS: Final = 8
PARTS: Final = ("data", "forward", "backward", "optimizer")
STILL: Final = "still"  # a rank's thread waiting for communication
EXPOSED, HIDDEN, UNTOLD = "exposed", "hidden", "untold"  # of a collective


@dataclass(frozen=True, kw_only=True)
class RankPhases:
    """The median step of a rank over a configuration's timed launches, in seconds.

    `parts_s` exclude exposed communication, which is `exposed_s`. None: not recorded.
    """

    configuration: str
    rank: int
    step_s: float
    parts_s: tuple[float | None, ...]  # in the order of PARTS
    exposed_s: float | None
    place: str  # slowest or fastest by own time, or ""
    of: int  # number of ranks in the configuration


@dataclass(frozen=True, kw_only=True)
class Span:
    """A period, in seconds since the step began on the first rank."""

    rank: int
    what: str  # a phase, STILL, or for a collective EXPOSED, HIDDEN or UNTOLD
    begin_s: float
    end_s: float


@dataclass(frozen=True, kw_only=True)
class StepTimeline:
    """One step of typical length in one launch."""

    launch: int
    configuration: str
    step: int
    spans: tuple[Span, ...]
    collectives: int  # of all shown ranks
    exposed_s: tuple[tuple[int, float], ...] = ()  # (rank, exposed communication), if recorded


def phases(measured: RecordData) -> tuple[RankPhases, ...]:
    """The ranks of the largest worker count that has steady steps and more than one rank; at most `MOST_RANKS`."""
    for configuration, level in sorted(zip(measured.configurations, measured.levels, strict=True), key=lambda pair: -pair[1]):
        if level > 1 and (ranks := _phases(measured, configuration)):
            return ranks
    return ()


def _phases(measured: RecordData, configuration: str) -> tuple[RankPhases, ...]:
    steady = measured.steady_steps.filter(pl.col("configuration") == configuration).select("launch", "step")
    steady = watched(steady, measured.table("communication"))
    rows = _own(measured, measured.effective_steps.join(steady, on=["launch", "step"], how="semi"))
    medians = (
        rows.group_by("rank")
        .agg(
            *(pl.col(name).median() / NS_PER_S for name in ("step_s", "exposed_s")),
            *((pl.col(f"own_{part}").median() / NS_PER_S).alias(part) for part in PARTS),
        )
        .sort(pl.col("step_s") - pl.col("exposed_s").fill_null(0.0), "rank")
        .to_dicts()
    )
    if len(medians) < 2:
        return ()
    kept = _spread(medians)
    marks = {medians[0]["rank"]: "fastest", medians[-1]["rank"]: "slowest"}
    return tuple(
        RankPhases(
            configuration=configuration,
            rank=int(row["rank"]),
            step_s=row["step_s"],
            parts_s=tuple(row[part] for part in PARTS),
            exposed_s=row["exposed_s"],
            place=marks.get(row["rank"], ""),
            of=len(medians),
        )
        for row in (kept if len(kept) < len(medians) else sorted(kept, key=lambda row: row["rank"]))
    )


def between(measured: RecordData) -> tuple[tuple[str, float], ...]:
    """(configuration, seconds) of exposed communication between the phases of a step, if recorded.

    Median over launches of the median over steady steps of the mean over ranks, as for `comm_exposed`.
    """
    rows = measured.table("waits").filter(pl.col("phase").eq(BETWEEN) & pl.col("waiting_ns").is_not_null())
    if rows.height == 0:
        return ()
    steady = watched(measured.steady_steps.select("launch", "configuration", "step", "ranks"), measured.table("communication"))
    per_step = rows.group_by("launch", "step").agg(pl.col("waiting_ns").sum()).join(steady, on=["launch", "step"])
    per_launch = per_step.group_by("launch", "configuration").agg((pl.col("waiting_ns") / pl.col("ranks")).median())
    medians = per_launch.group_by("configuration").agg(pl.col("waiting_ns").median() / NS_PER_S)
    return tuple(medians.sort("configuration").iter_rows())


def _own(measured: RecordData, steps: pl.DataFrame) -> pl.DataFrame:
    """`step_s`, `exposed_s`, `own_<part>` and `_between` of each row, ns.

    Exposed communication is subtracted from the phases in which it was recorded; the part without a phase from the backward pass, where
    DDP waits, and any excess from the forward pass. Communication between phases (a script's own all_reduce after its backward pass) is
    subtracted from the rest.
    """
    keys = ["launch", "rank", "incarnation", "step"]
    outside = [*(part for part in PARTS if part != "backward"), BETWEEN]
    waits = measured.table("waits").filter(pl.col("waiting_ns").is_not_null() & pl.col("phase").is_in(outside))
    waits_by_part = waits.group_by(keys).agg(
        pl.col("waiting_ns").filter(pl.col("phase") == part).sum().alias(f"_{part}") for part in outside
    )
    step_ns = pl.col("end_ns") - pl.col("begin_ns") - pl.col("checkpoint_ns").fill_null(0)
    reported = pl.col("exposed_comm_ns").clip(lower_bound=0)
    exposed = pl.when(reported.is_not_null()).then(pl.min_horizontal(reported, step_ns))
    named = pl.sum_horizontal(f"_{part}" for part in outside)
    left = (exposed.fill_null(0) - named).clip(lower_bound=0)
    backward = pl.min_horizontal(left, pl.col("backward_ns").fill_null(0))
    forward = pl.col("_forward") + left - backward
    exposed_by_part = {"data": pl.col("_data"), "forward": forward, "backward": backward, "optimizer": pl.col("_optimizer")}
    return (
        steps.join(waits_by_part, on=keys, how="left")
        .with_columns(pl.col(f"_{part}").fill_null(0) for part in outside)
        .with_columns(
            step_ns.alias("step_s"),
            exposed.alias("exposed_s"),
            *((pl.col(f"{part}_ns") - exposed_by_part[part]).clip(lower_bound=0).alias(f"own_{part}") for part in PARTS),
        )
    )


def _spread(rows: list[dict[str, float]]) -> list[dict[str, float]]:
    """An even selection of ordered rows, with both ends."""
    if len(rows) <= MOST_RANKS:
        return rows
    return [rows[round(index * (len(rows) - 1) / (MOST_RANKS - 1))] for index in range(MOST_RANKS)]


def timeline(measured: RecordData, ranks: tuple[RankPhases, ...]) -> StepTimeline | None:
    """A steady step of median length on the shown ranks, in the launch with most collectives; None without any."""
    if not ranks or measured.table("collectives").height == 0:
        return None
    clock = on_one_clock(measured)  # one chart shows ranks of several hosts
    configuration, shown = ranks[0].configuration, [rank_phases.rank for rank_phases in ranks]
    apart = pl.col("launch").is_in(list(clock.troubles))
    steady = measured.steady_steps.filter((pl.col("configuration") == configuration) & ~apart)
    measured = clock.measured
    calls = measured.table("collectives").filter(
        pl.col("rank").is_in(shown) & pl.col("end_ns").is_not_null() & pl.col("step").is_not_null()
    )
    steady = all_watched(steady, measured.table("communication"))
    recorded = steady.join(calls.select("launch", "step").unique(), on=["launch", "step"], how="semi")
    if recorded.height == 0:
        return None
    middle = recorded["step_s"].median()
    row = recorded.with_columns(off=(pl.col("step_s") - middle).abs()).sort("off", "launch", "step").row(0, named=True)
    return _timeline(measured, calls, row, shown)


def _timeline(measured: RecordData, calls: pl.DataFrame, row: dict[str, object], shown: list[int]) -> StepTimeline:
    is_this_step = (pl.col("launch") == row["launch"]) & (pl.col("step") == row["step"])
    steps = measured.effective_steps.filter(is_this_step & pl.col("rank").is_in(shown))
    begin = int(steps["begin_ns"].min())  # type: ignore[arg-type]
    rows = {int(step_row["rank"]): step_row for step_row in _own(measured, steps).iter_rows(named=True)}
    spans = [span for step_row in rows.values() for span in _laid(step_row, begin)]
    step_calls = calls.filter(is_this_step)
    for rank, a, b in step_calls.select("rank", "begin_ns", "end_ns").sort("rank", "begin_ns").iter_rows():
        call = Span(rank=rank, what=UNTOLD, begin_s=(a - begin) / NS_PER_S, end_s=(b - begin) / NS_PER_S)
        # waits between phases are timed but have no position, so what a collective overlapped is unknown
        separable = rank in rows and rows[rank]["exposed_s"] is not None and not rows[rank]["_between"]
        spans += _parted(call, [span for span in spans if span.rank == rank and span.what == STILL]) if separable else [call]
    return StepTimeline(
        launch=int(str(row["launch"])),
        configuration=str(row["configuration"]),
        step=int(str(row["step"])),
        spans=tuple(spans),
        collectives=step_calls.height,
        exposed_s=tuple(
            (rank, step_row["exposed_s"] / NS_PER_S) for rank, step_row in sorted(rows.items()) if step_row["exposed_s"] is not None
        ),
    )


def _laid(step: dict[str, int | None], begin: int) -> list[Span]:
    """The phases of a rank's step, laid end to end from its begin: lengths are measured, gaps are not.

    A phase's exposed communication is laid at its end, where a backward pass waits for its last buckets.
    """
    at, spans, rank = int(step["begin_ns"] or 0) - begin, list[Span](), int(step["rank"] or 0)
    for part in PARTS:
        whole = step[f"{part}_ns"]
        if not whole:
            continue
        own_ns = step[f"own_{part}"] or 0
        for what, length in ((part, own_ns), (STILL, whole - own_ns)):
            if length:
                spans.append(Span(rank=rank, what=what, begin_s=at / NS_PER_S, end_s=(at + length) / NS_PER_S))
            at += length
    return spans


def _parted(call: Span, still: list[Span]) -> list[Span]:
    """Split a collective: exposed while its rank waited, else hidden."""
    cuts = sorted(
        {call.begin_s, call.end_s, *(end for span in still for end in (span.begin_s, span.end_s) if call.begin_s < end < call.end_s)}
    )
    return [
        replace(call, begin_s=a, end_s=b, what=EXPOSED if any(span.begin_s <= a and b <= span.end_s for span in still) else HIDDEN)
        for a, b in pairwise(cuts)
    ]
