"""Which data series do a record's charts show?

Aggregates of steps and events, small enough to draw. A million step rows become at most 300 points per launch: equal runs of steps, each
with its median, minimum and maximum. The phases of a fault come from the reliability metrics, laid end to end from the instant of the
fault, so that chart and table cannot disagree. Raw seconds; `fireassay.reports.view` makes the text.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import polars as pl

from fireassay.estimates.estimate import Absent, Value
from fireassay.frames.clock_offsets import on_one_clock
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.communication.communication_model import POINTS as LEAST_COUNTS
from fireassay.frames.training.communication.communication_model import held_out, model, refusal
from fireassay.frames.training.rank_time import CATEGORIES
from fireassay.frames.training.recovery import Recovery, noticed_ns, recoveries, strikes
from fireassay.frames.training.scaling_points import chosen, throughputs
from fireassay.metrics.training.faults import TIME_TO_DETECT, TIME_TO_RECOMPUTE, TIME_TO_RELOAD, TIME_TO_RESTART, partition
from fireassay.metrics.training.scaling import SERIAL_FRACTION
from fireassay.reports.series import ranks as rank_series
from fireassay.reports.series.ranks import RankPhases, StepTimeline
from fireassay.stats.models.communication_wall import Curve
from fireassay.stats.models.communication_wall import predict as predict_wall
from fireassay.stats.models.scaling import amdahl_speedup
from fireassay.stats.models.scaling_laws import LAW_NAMES, Refused
from fireassay.stats.models.scaling_predictions import FARTHEST, predict, relative_curve
from fireassay.units import NS_PER_S

MOST_POINTS: Final = 300  # per launch
CURVE_POINTS: Final = 60  # per part of a fitted curve
WALL_REACH: Final = 8.0  # multiple of the largest worker count up to which the communication model is drawn
RECOVERY: Final = (  # metric, label in a chart
    (TIME_TO_DETECT.name, "detect"),
    (TIME_TO_RESTART.name, "restart"),
    (TIME_TO_RELOAD.name, "reload"),
    (TIME_TO_RECOMPUTE.name, "recompute"),
)
LASTED: Final = "while it lasted"  # the only phase of a transient fault


@dataclass(frozen=True, kw_only=True)
class StepBin:
    """A run of consecutive steps of a launch: step numbers and step times in seconds."""

    first: int
    last: int
    median_s: float
    low_s: float
    high_s: float


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """Step times over one launch. `warmup` counts leading steps; `shape` is the result of the steady-state test."""

    launch: int
    configuration: str
    block: int
    role: str
    warmup: int
    shape: str
    bins: tuple[StepBin, ...]


@dataclass(frozen=True, kw_only=True)
class OrderPoint:
    """A timed launch in start order; step times in seconds are None without steady steps."""

    position: int
    launch: int
    configuration: str
    status: str
    median_s: float | None
    q25_s: float | None
    q75_s: float | None


@dataclass(frozen=True, kw_only=True)
class RecoveryPhase:
    """One phase after a fault, in seconds since the launch began."""

    name: str
    begin_s: float
    end_s: float


@dataclass(frozen=True, kw_only=True)
class FaultTimeline:
    """The course of a launch with an injected fault; times are seconds since the launch began.

    `progress` holds (incarnation, time, steps finished).
    """

    launch: int
    configuration: str
    workers: int
    status: str
    fault_s: float | None
    victim: int | None
    signal: str  # or the fault's kind if it sends none
    steps_at_fault: int | None
    progress: tuple[tuple[int, float, int], ...]
    phases: tuple[RecoveryPhase, ...]  # of all strikes, in order
    absent: tuple[str, ...]  # reasons for missing phases, one sentence each
    again_s: tuple[float, ...] = ()  # further strikes


@dataclass(frozen=True, kw_only=True)
class Spent:
    """Use of rank-seconds in a configuration's launches of one role: shares by category, summing to 1."""

    configuration: str
    role: str  # timed or fault
    launches: int
    rank_s: float
    shares: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class CurvePoint:
    """The speedup of a fitted law at `workers`, with the curve's interval if several blocks give one."""

    workers: float
    speedup: float
    low: float | None
    high: float | None


@dataclass(frozen=True, kw_only=True)
class ScalingCurve:
    """The law preferred by AICc, over the measured range and as far beyond as prediction is allowed."""

    law: str
    why: str
    measured: tuple[CurvePoint, ...]
    beyond: tuple[CurvePoint, ...]  # empty if prediction is not allowed; `limit` says why
    limit: str


@dataclass(frozen=True, kw_only=True)
class WallPoint:
    """Speedup at `workers` by the communication model, with its interval; by the model without overlap; by Amdahl's fit."""

    workers: float
    speedup: float
    low: float | None
    high: float | None
    exposed: float
    amdahl: float | None


@dataclass(frozen=True, kw_only=True)
class WallSeries:
    """The communication model from one worker, over the measured range, to its end or its limit of validity."""

    points: tuple[WallPoint, ...]
    largest: int  # the largest measured worker count
    trusted: float  # predictions up to here are not flagged
    fastest: int | None
    hides: bool
    held_workers: int | None  # worker count that was held out and predicted
    held_speedup: float | None
    words: str


@dataclass(frozen=True, kw_only=True)
class Series:
    """All data that charts need besides the metrics."""

    timelines: tuple[Timeline, ...]
    order: tuple[OrderPoint, ...]
    faults: tuple[FaultTimeline, ...]
    scaling: ScalingCurve | None = None  # None if no law can be checked
    spent: tuple[Spent, ...] = ()  # empty if no rank marks its steps
    ranks: tuple[RankPhases, ...] = ()  # empty with a single rank
    step: StepTimeline | None = None  # None if no collective was recorded
    wall: WallSeries | None = None  # None if the links were not measured
    between: tuple[tuple[str, float], ...] = ()  # (configuration, seconds) of exposed communication between phases


def build(measured: RecordData, results: Mapping[str, Mapping[str, Value]]) -> Series:
    """The series of any record."""
    return Series(timelines=_timelines(measured), order=_order(measured), faults=_faults(measured, results), scaling=_scaling(measured))


def of_training(series: Series, measured: RecordData, results: Mapping[str, Mapping[str, Value]]) -> Series:
    """With the series that only the ranks of a training have."""
    ranks = rank_series.phases(measured)
    return replace(
        series,
        spent=_spent(measured),
        ranks=ranks,
        step=rank_series.timeline(measured, ranks),
        wall=_wall(measured, results),
        between=rank_series.between(measured),
    )


def _wall(measured: RecordData, results: Mapping[str, Mapping[str, Value]]) -> WallSeries | None:
    """The curve of the model of communication, as far as its shortest step or eight times the measured range."""
    if isinstance(wall_model := model(measured), Absent):
        return None
    held = held_out(measured)
    best, serial = wall_model.fitted.middle.fastest(), results[SERIAL_FRACTION.name]["all"]
    end = max(FARTHEST * wall_model.largest, min(2.0 * (best or math.inf), WALL_REACH * wall_model.largest))
    # a model that misses the measurements is not extrapolated
    end = float(wall_model.largest) if refusal(measured) is not None else end
    least = max(1, wall_model.levels[0])
    curve = wall_model.fitted.middle
    points = []
    for i in range(CURVE_POINTS):
        p = least * (end / least) ** (i / (CURVE_POINTS - 1))
        at = predict_wall(
            wall_model.fitted, p, measured.confidence, launches=wall_model.fitted.blocks, others=wall_model.others, what=Curve.speedup
        )
        bare = replace(curve, hideable_s=0.0).speedup(p)
        amdahl = None if isinstance(serial, Absent) or curve.weak else amdahl_speedup(serial.value, p)
        bounded = math.isfinite(at.high)
        points.append(
            WallPoint(
                workers=p, speedup=at.value, low=at.low if bounded else None, high=at.high if bounded else None, exposed=bare, amdahl=amdahl
            )
        )
    checked = None if isinstance(held, Absent) else held
    return WallSeries(
        points=tuple(points),
        largest=wall_model.largest,
        trusted=FARTHEST * wall_model.largest if len(wall_model.levels) >= LEAST_COUNTS else wall_model.largest,
        fastest=best,
        hides=wall_model.hides,
        held_workers=checked.workers if checked else None,
        held_speedup=checked.speedup if checked else None,
        words=wall_model.words,
    )


def _spent(measured: RecordData) -> tuple[Spent, ...]:
    if measured.table("steps").height == 0:
        return ()
    spent = []
    for role in ("timed", "fault"):
        sums = partition(measured, role).group_by("configuration").agg(pl.len(), pl.col(list(CATEGORIES)).sum())
        by_name = {row["configuration"]: row for row in sums.iter_rows(named=True)}
        for name in measured.configurations:
            row = by_name.get(name)
            whole = sum(row[category] for category in CATEGORIES) if row is not None else 0.0
            if row is not None and whole > 0:
                shares = {category: row[category] / whole for category in CATEGORIES}
                spent.append(Spent(configuration=name, role=role, launches=row["len"], rank_s=whole, shares=shares))
    return tuple(spent)


def _scaling(measured: RecordData) -> ScalingCurve | None:
    data = throughputs(measured)
    if isinstance(data, Absent):
        return None
    choice = chosen(measured, data)
    if isinstance(choice, Refused):
        return None
    fit, least, most = choice.chosen, data.levels[0], data.levels[-1]

    def part(begin: float, end: float) -> tuple[CurvePoint, ...]:
        workers = [begin * (end / begin) ** (i / (CURVE_POINTS - 1)) for i in range(CURVE_POINTS)]
        curve = relative_curve(fit, workers, measured.experiment.base_level)
        bounded = data.spent > 0  # the launches of one block share their conditions
        return tuple(
            CurvePoint(workers=n, speedup=at.value, low=at.low if bounded else None, high=at.high if bounded else None)
            for n, at in zip(workers, curve, strict=True)
        )

    whole = predict(fit, data, FARTHEST * most)
    end = min(FARTHEST * most, fit.turning_point() or FARTHEST * most)  # a decline beyond the measurements is not drawn
    end = FARTHEST * most if not isinstance(whole, Refused) else end
    drawn = end > most and not isinstance(predict(fit, data, end), Refused)
    return ScalingCurve(
        law=LAW_NAMES[fit.law],
        why=choice.sentence,
        measured=part(least, most),
        beyond=part(most, end) if drawn else (),
        limit=whole.sentence if isinstance(whole, Refused) else "",
    )


def _timelines(measured: RecordData) -> tuple[Timeline, ...]:
    steps = measured.global_steps
    if steps.height == 0:
        return ()
    binned = binned_steps(steps).partition_by("launch", as_dict=True, maintain_order=True)
    timelines = []
    for row in measured.table("launches").sort("launch").iter_rows(named=True):
        bins = binned.get((row["launch"],))
        if bins is None:
            continue
        steady = measured.steady.get(row["launch"])
        timelines.append(
            Timeline(
                launch=row["launch"],
                configuration=row["configuration"],
                block=row["block"],
                role=row["role"],
                warmup=steady.warmup if steady else 0,
                shape=steady.kind if steady else "",
                bins=tuple(StepBin(**{k: v for k, v in r.items() if k != "launch"}) for r in bins.iter_rows(named=True)),
            )
        )
    return tuple(timelines)


def binned_steps(steps: pl.DataFrame, most: int = MOST_POINTS) -> pl.DataFrame:
    """(launch, step, step_s) -> at most `most` rows per launch: first, last, median_s, low_s, high_s."""
    index = pl.int_range(pl.len()).over("launch")
    size = pl.len().over("launch")
    bins = (index * pl.min_horizontal(size, pl.lit(most)) // size).alias("_bin")
    return (
        steps.lazy()
        .sort("launch", "step")
        .with_columns(bins)
        .group_by("launch", "_bin", maintain_order=True)
        .agg(
            pl.col("step").min().alias("first"),
            pl.col("step").max().alias("last"),
            pl.col("step_s").median().alias("median_s"),
            pl.col("step_s").min().alias("low_s"),
            pl.col("step_s").max().alias("high_s"),
        )
        .drop("_bin")
        .collect()
    )


def _order(measured: RecordData) -> tuple[OrderPoint, ...]:
    """Every timed launch, including failed ones, in start order."""
    spread = measured.steady_steps.group_by("launch").agg(
        pl.col("step_s").median().alias("median_s"),
        pl.col("step_s").quantile(0.25).alias("q25_s"),
        pl.col("step_s").quantile(0.75).alias("q75_s"),
    )
    launches = measured.table("launches").filter(pl.col("role") == "timed").sort("begin_ns", "launch")
    rows = launches.join(spread, on="launch", how="left", maintain_order="left").iter_rows(named=True)
    return tuple(
        OrderPoint(
            position=position,
            launch=row["launch"],
            configuration=row["configuration"],
            status=row["status"],
            median_s=row["median_s"],
            q25_s=row["q25_s"],
            q75_s=row["q75_s"],
        )
        for position, row in enumerate(rows, start=1)
    )


def _faults(measured: RecordData, results: Mapping[str, Mapping[str, Value]]) -> tuple[FaultTimeline, ...]:
    launches = measured.table("launches").filter(pl.col("role") == "fault").sort("launch")
    return tuple(_fault(measured, results, row) for row in launches.iter_rows(named=True))


def _fault(measured: RecordData, results: Mapping[str, Mapping[str, Value]], launch: Mapping[str, object]) -> FaultTimeline:
    """One fault launch."""
    number, begin = int(str(launch["launch"])), _began(measured, launch)
    clock = on_one_clock(measured)  # the coordinator stamps the fault, workers stamp progress
    trouble, aligned = clock.troubles.get(number, ""), clock.measured
    strike_rows = strikes(aligned).filter(pl.col("launch") == number).sort("ns").to_dicts()
    event = strike_rows[0] if strike_rows else None
    fault_s = None if event is None else (event["ns"] - begin) / NS_PER_S
    phases, absent = _recovery(measured, results, launch, fault_s)
    steps = aligned.table("steps").filter((pl.col("launch") == number) & (not trouble))
    return FaultTimeline(
        launch=number,
        configuration=str(launch["configuration"]),
        workers=int(str(launch["workers"])),
        status=str(launch["status"]),
        fault_s=fault_s,
        victim=None if event is None else event["rank"],
        signal="" if event is None else _signal(event["detail"]),
        steps_at_fault=None if event is None else event["step"],
        progress=_progress(steps, begin),
        phases=phases,
        again_s=tuple((row["ns"] - begin) / NS_PER_S for row in strike_rows[1:]),
        absent=(*absent, f"the steps are not on the fault's clock ({trouble})") if trouble else absent,
    )


def _began(measured: RecordData, launch: Mapping[str, object]) -> int:
    """When the launch began, on the clock of its events and steps."""
    rows = on_one_clock(measured).measured.table("launches").filter(pl.col("launch") == launch["launch"])
    return int(rows["begin_ns"][0])


def _signal(detail: str) -> str:
    try:
        known = json.loads(detail)
    except ValueError:
        return ""
    if not isinstance(known, dict):
        return ""
    name = str(known.get("signal", ""))
    if not name:
        return str(known.get("fault", ""))
    return name if name.startswith("SIG") else f"SIG{name}"


def _progress(steps: pl.DataFrame, begin_ns: int) -> tuple[tuple[int, float, int], ...]:
    """(incarnation, seconds, steps finished) each time the last rank finished a step, thinned to 300 points."""
    finished = steps.group_by("incarnation", "step").agg(pl.col("end_ns").max()).sort("incarnation", "step")
    stride = -(-finished.height // MOST_POINTS) or 1
    edge = (pl.col("incarnation") != pl.col("incarnation").shift(-1)).fill_null(True) | (
        pl.col("incarnation") != pl.col("incarnation").shift(1)
    ).fill_null(True)
    thinned = finished.filter(edge | (pl.int_range(pl.len()) % stride == 0))
    return tuple(
        (int(incarnation), (end - begin_ns) / NS_PER_S, int(step) + 1)
        for incarnation, step, end in thinned.select("incarnation", "step", "end_ns").iter_rows()
    )


def _recovery(
    measured: RecordData, results: Mapping[str, Mapping[str, Value]], launch: Mapping[str, object], fault_s: float | None
) -> tuple[tuple[RecoveryPhase, ...], tuple[str, ...]]:
    """The phases end to end from the fault. The first absent one ends the chain, because later ones have no known begin.

    A transient fault has one phase: while it lasted.
    """
    if fault_s is None:
        return (), ("no fault struck in this launch",)
    number, begin = int(str(launch["launch"])), _began(measured, launch)
    matches = [recovery for recovery in recoveries(measured) if recovery.launch == number]
    if not matches:
        events = on_one_clock(measured).measured.table("events")
        ends = events.filter((pl.col("launch") == number) & (pl.col("kind") == "fault_end"))["ns"]
        end = (int(str(ends.max())) - begin) / NS_PER_S if len(ends) else fault_s
        return (RecoveryPhase(name=LASTED, begin_s=fault_s, end_s=end),), ()
    parts = [_of_strike(results, recovery, begin) for recovery in matches]
    return tuple(phase for phases, _ in parts for phase in phases), tuple(dict.fromkeys(why for _, absent in parts for why in absent))


def _of_strike(
    results: Mapping[str, Mapping[str, Value]], recovery: Recovery, begin: int
) -> tuple[tuple[RecoveryPhase, ...], tuple[str, ...]]:
    """The phases of one strike."""
    at, phases = recovery.fault_ns, list[RecoveryPhase]()
    noticed = noticed_ns(recovery)
    for (metric, name), until in zip(RECOVERY, (noticed, recovery.restarted_ns, recovery.resumed_ns, recovery.regained_ns), strict=True):
        if until is None or (name == "detect" and recovery.workers == 1):
            value = results.get(metric, {}).get(recovery.configuration)
            reason = f": {value.detail}" if isinstance(value, Absent) else ""
            return tuple(phases), (f"{name} was not measured{reason}",)
        end = max(until, at)  # the last worker may report its start after the first one trained
        phases.append(RecoveryPhase(name=name, begin_s=(at - begin) / NS_PER_S, end_s=(end - begin) / NS_PER_S))
        at = end
    return tuple(phases), ()
