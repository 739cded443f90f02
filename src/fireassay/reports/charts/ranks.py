"""What do the ranks of one launch do in a step: which is slow, and does communication overlap with computation or follow it?

Phases: each rank's median steady step of the largest worker count, split into its own parts and exposed communication: in synchronous
training all wall times are alike, but not the ranks' own times. With many ranks, a selection from the fastest to the slowest.
Timeline: one step of typical length on those ranks, with the recorded collectives, exposed or hidden.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

import polars as pl

from fireassay.estimates.format import count, reading, scale_for
from fireassay.frames.clock_offsets import on_one_clock
from fireassay.frames.record_data import RecordData
from fireassay.frames.record_tables import once_per_record
from fireassay.frames.training.communication.watched_steps import all_watched, watched
from fireassay.frames.training.rank_phases import BETWEEN
from fireassay.record.slices import SLICE_ROWS
from fireassay.reports.charts.axes import linear, rows_axis, written_tick
from fireassay.reports.charts.model import Bar, Chart, Charts, Panel, Reading, named
from fireassay.reports.charts.points import Swatch, bar_key, stacked
from fireassay.reports.view import View
from fireassay.units import NS_PER_S

MAX_RANKS: Final = 8
PARTS: Final = ("data", "forward", "backward", "optimizer")
STILL: Final = "still"  # a rank's thread waiting for communication
EXPOSED, HIDDEN, UNTOLD = "exposed", "hidden", "untold"  # of a collective
PHASES: Final = {
    "data": Swatch("data wait", "plum"),
    "forward": Swatch("forward", "sky"),
    "backward": Swatch("backward", "blue"),
    EXPOSED: Swatch("exposed communication", "orange", "wait"),
    "optimizer": Swatch("optimizer", "teal"),
    "rest": Swatch("not attributed", "grey", "rest"),
}
SPANS: Final = {
    **{part: PHASES[part] for part in PARTS},
    STILL: Swatch("the rank waits for communication", "orange", "wait"),
    EXPOSED: Swatch("a collective, exposed", "orange"),
    HIDDEN: Swatch("a collective, hidden by computation", "grey"),
    UNTOLD: Swatch("a collective in flight", "gold"),
}
THICK, THIN = 14, 5
FINEST: Final = 1.5 / 400  # of the chart's width: a pixel and a half of a narrow one


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

    @property
    def name(self) -> str:
        """Its rank and place."""
        return f"rank {self.rank}{f', {self.place}' if self.place else ''}"

    @property
    def lengths_s(self) -> dict[str, float]:
        """Parts in step order; exposed communication is subtracted from the phases that contain it."""
        known = dict(zip(PARTS, (length or 0.0 for length in self.parts_s), strict=True)) | {EXPOSED: self.exposed_s or 0.0}
        known["rest"] = max(0.0, self.step_s - sum(known.values()))
        return {part: known[part] for part in PHASES}


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


# ---- the ranks -------------------------------------------------------------------------------------------------------


@named("ranks")
def ranks(view: View) -> Charts:
    """One bar per rank of the largest worker count; empty with a single rank."""
    if not (shown := rank_phases(view.measured)):
        return ()
    scale = scale_for("s", tuple(rank.step_s for rank in shown))
    bars = [
        stacked(i, ((PHASES[p], f"{rank.name}, {PHASES[p].text}", reading(s, "s"), s * scale.factor) for p, s in rank.lengths_s.items()))
        for i, rank in enumerate(shown)
    ]
    x = linear(0, max(sum(rank.lengths_s.values()) for rank in shown) * scale.factor * 1.04, f"time per step, {scale.label}")
    rows = rows_axis((f"{rank.name}: {reading(rank.step_s, 's', scale)}" for rank in shown), 38)
    some = f", {len(shown)} from fast to slow" if len(shown) < shown[0].of else ""
    return (
        Chart(
            title="Phases of each rank",
            panels=(Panel(x=x, y=rows, marks=tuple(bar for of in bars for bar in of)),),
            caption=f"{view.label(shown[0].configuration)}{some}; medians. {_caption(shown)}",
            description=" ".join(map(_words, shown)),
            key=bar_key(swatch for part, swatch in PHASES.items() if any(rank.lengths_s[part] > 0 for rank in shown)),
            quantity=x.title,
        ),
    )


def _caption(shown: tuple[RankPhases, ...]) -> str:
    text = "Steady steps. In a synchronous training every rank's step is as long as the slowest's"
    if any(rank.exposed_s is None for rank in shown):
        return f"{text}. Waiting for other ranks was not recorded: it is part of the phases, mostly of backward."
    return f"{text}: a slow rank has the longest phases, and the others wait for it in exposed communication."


def _words(rank: RankPhases) -> str:
    parts = ", ".join(f"{PHASES[part].text} {reading(length, 's')}" for part, length in rank.lengths_s.items() if length > 0.0)
    return f"{rank.name}: {reading(rank.step_s, 's')}: {parts}."


@once_per_record
def rank_phases(measured: RecordData) -> tuple[RankPhases, ...]:
    """The ranks of the largest worker count that has steady steps and more than one rank; at most `MAX_RANKS`."""
    for configuration, level in sorted(zip(measured.configurations, measured.levels, strict=True), key=lambda pair: -pair[1]):
        if level > 1 and (found := _phases(measured, configuration)):
            return found
    return ()


def _phases(measured: RecordData, configuration: str) -> tuple[RankPhases, ...]:
    launches = measured.timed.filter(pl.col("configuration") == configuration)["launch"]
    of_launches = measured.stepped.filter(pl.col("launch").is_in(launches.implode()))
    rows = of_launches.group_by("rank").agg(pl.col("rows").sum()).sort("rank")
    groups = rows.with_columns(_group=pl.col("rows").cum_sum() // SLICE_ROWS).partition_by("_group")
    lengths = [
        own_phases(measured, configuration, group["rank"].to_list(), phases=False)
        .group_by("rank")
        .agg(pl.col("step_s", "exposed_s").median())
        for group in groups
    ]
    order = (pl.col("step_s") - pl.col("exposed_s").fill_null(0.0), pl.col("rank"))
    seconds = pl.exclude("rank") / NS_PER_S
    medians = pl.concat(lengths).sort("rank").rechunk().with_columns(seconds).sort(*order).to_dicts() if lengths else []
    if len(medians) < 2:
        return ()
    kept = medians  # if there are too many, an even selection of them in their order, with both ends
    if len(medians) > MAX_RANKS:
        kept = [medians[round(index * (len(medians) - 1) / (MAX_RANKS - 1))] for index in range(MAX_RANKS)]
    own = own_phases(measured, configuration, [row["rank"] for row in kept]).group_by("rank")
    parts = {
        row["rank"]: row for row in own.agg(pl.col(f"own_{part}").median().alias(part) for part in PARTS).with_columns(seconds).to_dicts()
    }
    places = {medians[0]["rank"]: "fastest", medians[-1]["rank"]: "slowest"}
    return tuple(
        RankPhases(
            configuration=configuration,
            rank=int(row["rank"]),
            step_s=row["step_s"],
            parts_s=tuple(parts[row["rank"]][part] for part in PARTS),
            exposed_s=row["exposed_s"],
            place=places.get(row["rank"], ""),
            of=len(medians),
        )
        for row in (kept if len(kept) < len(medians) else sorted(kept, key=lambda row: row["rank"]))
    )


def own_phases(measured: RecordData, configuration: str, ranks: list[int], *, phases: bool = True) -> pl.DataFrame:
    """The columns of `_own` for these ranks' steady steps of a configuration; without `phases`, rank, step_s and exposed_s."""
    steady = measured.steady_steps.filter(pl.col("configuration") == configuration).select("launch", "step")
    steady = watched(steady, measured.table("communication"))
    if not phases:
        columns = ("rank", "begin_ns", "end_ns", "checkpoint_ns", "exposed_comm_ns")
        rows = pl.concat(measured.steps_within(steady, *columns, ranks=ranks))
        return rows.select("rank", _STEP_NS.alias("step_s"), _EXPOSED.alias("exposed_s"))
    return _own(measured, pl.concat(measured.steps_within(steady, *_OWN, ranks=ranks)))


_OWN: Final = (
    *("launch", "rank", "incarnation", "step", "begin_ns", "end_ns"),
    "checkpoint_ns",
    "exposed_comm_ns",
    *(f"{part}_ns" for part in PARTS),
)

_STEP_NS: Final = pl.col("end_ns") - pl.col("begin_ns") - pl.col("checkpoint_ns").fill_null(0)
_REPORTED: Final = pl.col("exposed_comm_ns").clip(lower_bound=0)
_EXPOSED: Final = pl.when(_REPORTED.is_not_null()).then(pl.min_horizontal(_REPORTED, _STEP_NS))


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
    named = pl.sum_horizontal(f"_{part}" for part in outside)
    left = (_EXPOSED.fill_null(0) - named).clip(lower_bound=0)
    backward = pl.min_horizontal(left, pl.col("backward_ns").fill_null(0))
    forward = pl.col("_forward") + left - backward
    exposed_by_part = {"data": pl.col("_data"), "forward": forward, "backward": backward, "optimizer": pl.col("_optimizer")}
    return (
        steps.join(waits_by_part, on=keys, how="left")
        .with_columns(pl.col(f"_{part}").fill_null(0) for part in outside)
        .with_columns(
            _STEP_NS.alias("step_s"),
            _EXPOSED.alias("exposed_s"),
            *((pl.col(f"{part}_ns") - exposed_by_part[part]).clip(lower_bound=0).alias(f"own_{part}") for part in PARTS),
        )
    )


# ---- one step --------------------------------------------------------------------------------------------------------


@named("step-timeline")
def step_timeline(view: View) -> Charts:
    """A row per rank: computation, and thin below it the collectives in flight; empty if no collective was recorded."""
    timeline = typical_step(view.measured, rank_phases(view.measured))
    if timeline is None:
        return ()
    first, last = min(0.0, *(span.begin_s for span in timeline.spans)), max(span.end_s for span in timeline.spans)
    scale = scale_for("s", (last,))
    shown = sorted({span.rank for span in timeline.spans})
    x = linear(first * scale.factor, last * scale.factor * 1.02, f"{scale.label} since the first of these ranks began")
    rows = rows_axis((f"rank {rank}" for rank in shown), 42)
    seen = _visible(timeline.spans, last - first)
    still = "waiting is drawn at the end of its phase" if timeline.exposed_s else "its exposed part was not recorded"
    return (
        Chart(
            title="One step, with its communication",
            panels=(Panel(x=x, y=rows, marks=tuple(_bar(span, shown.index(span.rank), scale.factor) for span in timeline.spans)),),
            caption=f"{view.label(timeline.configuration)}, step {timeline.step} of launch {timeline.launch}. A step of median length. Phases "
            "are drawn end to end from the rank's begin, since their lengths are measured and the gaps between them are not; "
            f"{still}. Thin bars: a collective lasts until it was complete on the rank, waiting for others included.",
            description=_in_words(timeline),
            key=bar_key(swatch for what, swatch in SPANS.items() if what in seen),
            quantity=f"length, {scale.label}",
        ),
    )


def _visible(spans: Iterable[Span], width_s: float) -> set[str]:
    """Kinds of bars wide enough to see, so that the key lists no bar thinner than `FINEST` on every rank."""
    lengths: dict[tuple[str, int], float] = {}
    for span in spans:
        lengths[span.what, span.rank] = lengths.get((span.what, span.rank), 0.0) + span.end_s - span.begin_s
    return {what for (what, _), length in lengths.items() if length >= FINEST * width_s}


def _bar(span: Span, row: int, factor: float) -> Bar:
    swatch, left, right = SPANS[span.what], span.begin_s * factor, span.end_s * factor
    told = Reading(
        name=f"rank {span.rank}, {swatch.text}",
        text=reading(span.end_s - span.begin_s, "s"),
        value=(span.end_s - span.begin_s) * factor,
        more=f"from {written_tick(left)} to {written_tick(right)}",
    )
    height, drop = (THICK, -2) if span.what in (*PARTS, STILL) else (THIN, 10)
    return Bar(row=row, left=left, right=right, role=swatch.role, look=swatch.look, height=height, drop=drop, reading=told)


def _in_words(timeline: StepTimeline) -> str:
    where = f"Step {timeline.step} of launch {timeline.launch}"
    calls = [span for span in timeline.spans if span.what in (EXPOSED, HIDDEN, UNTOLD)]
    if not calls:
        return f"{where}."
    begin, end = min(span.begin_s for span in calls), max(span.end_s for span in calls)
    still = "".join(f" Rank {rank} waited for communication for {reading(length, 's')}." for rank, length in timeline.exposed_s)
    return (
        f"{where}: {count(timeline.collectives, 'collectives')} on the ranks shown, the first begun after "
        f"{reading(begin, 's')}, the last complete after {reading(end, 's')}.{still}"
    )


def typical_step(measured: RecordData, ranks: tuple[RankPhases, ...]) -> StepTimeline | None:
    """A steady step of median length on the shown ranks, in the launch with most collectives; None without any."""
    if not ranks or measured.table("collectives").height == 0:
        return None
    clock = on_one_clock(measured)  # one chart shows ranks of several hosts
    shown = [rank.rank for rank in ranks]
    apart = pl.col("launch").is_in(list(clock.troubles))
    steady = measured.steady_steps.filter((pl.col("configuration") == ranks[0].configuration) & ~apart)
    measured = clock.measured
    calls = measured.table("collectives").filter(
        pl.col("rank").is_in(shown) & pl.col("end_ns").is_not_null() & pl.col("step").is_not_null()
    )
    steady = all_watched(steady, measured.table("communication"))
    recorded = steady.join(calls.select("launch", "step").unique(), on=["launch", "step"], how="semi")
    if recorded.height == 0:
        return None
    off = (pl.col("step_s") - recorded["step_s"].median()).abs()
    row = recorded.with_columns(off=off).sort("off", "launch", "step").row(0, named=True)
    return _timeline(measured, calls, row, shown)


def _timeline(measured: RecordData, calls: pl.DataFrame, row: dict[str, Any], shown: list[int]) -> StepTimeline:
    is_this_step = (pl.col("launch") == row["launch"]) & (pl.col("step") == row["step"])
    slices = measured.effective_slices(*_OWN, launches=[row["launch"]], ranks=shown)
    steps = pl.concat(some.filter(is_this_step) for some in slices)
    begin = int(steps["begin_ns"].min())  # type: ignore[arg-type]
    rows = {int(step["rank"]): step for step in _own(measured, steps).iter_rows(named=True)}
    spans = [span for step in rows.values() for span in _laid(step, begin)]
    step_calls = calls.filter(is_this_step)
    for rank, a, b in step_calls.select("rank", "begin_ns", "end_ns").sort("rank", "begin_ns").iter_rows():
        call = Span(rank=rank, what=UNTOLD, begin_s=(a - begin) / NS_PER_S, end_s=(b - begin) / NS_PER_S)
        # waits between phases are timed but have no position, so what a collective overlapped is unknown
        separable = rank in rows and rows[rank]["exposed_s"] is not None and not rows[rank]["_between"]
        spans += _parted(call, [span for span in spans if span.rank == rank and span.what == STILL]) if separable else [call]
    exposed = tuple((rank, step["exposed_s"] / NS_PER_S) for rank, step in sorted(rows.items()) if step["exposed_s"] is not None)
    return StepTimeline(
        launch=int(row["launch"]),
        configuration=str(row["configuration"]),
        step=int(row["step"]),
        spans=tuple(spans),
        collectives=step_calls.height,
        exposed_s=exposed,
    )


def _laid(step: dict[str, Any], begin: int) -> Iterator[Span]:
    """The phases of a rank's step, laid end to end from its begin: lengths are measured, gaps are not.

    A phase's exposed communication is laid at its end, where a backward pass waits for its last buckets.
    """
    at, rank = int(step["begin_ns"] or 0) - begin, int(step["rank"] or 0)
    for part in (part for part in PARTS if step[f"{part}_ns"]):
        own_ns = step[f"own_{part}"] or 0
        for what, length in ((part, own_ns), (STILL, step[f"{part}_ns"] - own_ns)):
            if length:
                yield Span(rank=rank, what=what, begin_s=at / NS_PER_S, end_s=(at + length) / NS_PER_S)
            at += length


def _parted(call: Span, still: list[Span]) -> list[Span]:
    """Split a collective: exposed while its rank waited, else hidden."""
    inner = {end for span in still for end in (span.begin_s, span.end_s) if call.begin_s < end < call.end_s}
    return [
        replace(call, begin_s=a, end_s=b, what=EXPOSED if any(span.begin_s <= a and b <= span.end_s for span in still) else HIDDEN)
        for a, b in pairwise(sorted({call.begin_s, call.end_s, *inner}))
    ]
