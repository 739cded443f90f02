"""Which series do the pictures of a record show?  Folds of its steps and events, small enough to be drawn.

A million step rows become at most 300 points per launch: equal runs of steps, each with its median, smallest and
largest.  The phases of a fault come from the reliability metrics, laid end to end from the instant of the fault, so
that the picture and the table cannot disagree.  Raw seconds here; text is made in `assay.reports.view`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl

from assay.metrics.estimate import Absent, Estimate, Value
from assay.metrics.measured import Measured
from assay.metrics.scaling import chosen, throughputs
from assay.stats.scaling_fits import FARTHEST, LAW_NAMES, Refused, predict, relative_curve
from assay.units import NS_PER_S

MOST_POINTS: Final = 300  # per launch
CURVE_POINTS: Final = 60  # per part of a fitted curve
RECOVERY: Final = (  # metric, what it is called in a picture
    ("time_to_detect", "detect"),
    ("time_to_restart", "restart"),
    ("time_to_reload", "reload"),
    ("time_to_recompute", "recompute"),
)


@dataclass(frozen=True, kw_only=True)
class StepBin:
    """A run of consecutive steps of a launch: their numbers and step times in seconds."""

    first: int
    last: int
    median_s: float
    low_s: float
    high_s: float


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """The step times over one launch. `warmup` counts leading steps; `shape` is what the steady-state test said."""

    launch: int
    configuration: str
    block: int
    role: str
    warmup: int
    shape: str
    bins: tuple[StepBin, ...]


@dataclass(frozen=True, kw_only=True)
class OrderPoint:
    """A timed launch in the order of starting; step times in seconds are None where it has no steady steps."""

    position: int
    launch: int
    configuration: str
    status: str
    median_s: float | None
    q25_s: float | None
    q75_s: float | None


@dataclass(frozen=True, kw_only=True)
class RecoveryPhase:
    """One phase after a fault, seconds since the launch began."""

    name: str
    begin_s: float
    end_s: float


@dataclass(frozen=True, kw_only=True)
class FaultTimeline:
    """What happened in a launch in which something was broken; times are seconds since the launch began.

    `progress` holds (incarnation, time, steps finished).
    """

    launch: int
    configuration: str
    workers: int
    status: str
    fault_s: float | None
    victim: int | None
    signal: str
    steps_at_fault: int | None
    progress: tuple[tuple[int, float, int], ...]
    phases: tuple[RecoveryPhase, ...]
    absent: tuple[str, ...]  # why a phase is missing, one sentence each


@dataclass(frozen=True, kw_only=True)
class CurvePoint:
    """The speedup of a fitted law at `workers`, with the interval of the curve where several blocks give one."""

    workers: float
    speedup: float
    low: float | None
    high: float | None


@dataclass(frozen=True, kw_only=True)
class ScalingCurve:
    """The law that AICc prefers: over the measured range, and beyond it as far as it may be predicted."""

    law: str
    why: str
    measured: tuple[CurvePoint, ...]
    beyond: tuple[CurvePoint, ...]  # empty where nothing may be predicted; `limit` says why
    limit: str


@dataclass(frozen=True, kw_only=True)
class Series:
    """Everything that pictures need beside the metrics."""

    timelines: tuple[Timeline, ...]
    order: tuple[OrderPoint, ...]
    faults: tuple[FaultTimeline, ...]
    scaling: ScalingCurve | None = None  # None where no law can be checked


def build(measured: Measured, results: Mapping[str, Mapping[str, Value]]) -> Series:
    """All series of a record."""
    return Series(
        timelines=_timelines(measured), order=_order(measured), faults=_faults(measured, results), scaling=_scaling(measured)
    )  # fmt: skip


def _scaling(measured: Measured) -> ScalingCurve | None:
    data = throughputs(measured)
    if isinstance(data, Absent):
        return None
    choice = chosen(measured, data)
    if isinstance(choice, Refused):
        return None
    found, least, most = choice.chosen, data.levels[0], data.levels[-1]

    def part(begin: float, end: float) -> tuple[CurvePoint, ...]:
        workers = [begin * (end / begin) ** (i / (CURVE_POINTS - 1)) for i in range(CURVE_POINTS)]
        curve = relative_curve(found, workers, measured.experiment.base_level)
        bounded = data.spent > 0  # the launches of one block share their hour
        return tuple(
            CurvePoint(workers=n, speedup=at.value, low=at.low if bounded else None, high=at.high if bounded else None)
            for n, at in zip(workers, curve, strict=True)
        )

    whole = predict(found, data, FARTHEST * most)
    end = min(FARTHEST * most, found.turning_point() or FARTHEST * most)  # a fall that was not measured is not drawn
    end = FARTHEST * most if not isinstance(whole, Refused) else end
    drawn = end > most and not isinstance(predict(found, data, end), Refused)
    return ScalingCurve(
        law=LAW_NAMES[found.law], why=choice.sentence, measured=part(least, most),
        beyond=part(most, end) if drawn else (), limit=whole.sentence if isinstance(whole, Refused) else "",
    )  # fmt: skip


def _timelines(measured: Measured) -> tuple[Timeline, ...]:
    steps = measured.global_steps
    if steps.height == 0:
        return ()
    binned = binned_steps(steps).partition_by("launch", as_dict=True, maintain_order=True)
    found = []
    for row in measured.table("launches").sort("launch").iter_rows(named=True):
        bins = binned.get((row["launch"],))
        if bins is None:
            continue
        steady = measured.steady.get(row["launch"])
        found.append(Timeline(
            launch=row["launch"], configuration=row["configuration"], block=row["block"], role=row["role"],
            warmup=steady.warmup if steady else 0, shape=steady.kind if steady else "",
            bins=tuple(StepBin(**{k: v for k, v in r.items() if k != "launch"}) for r in bins.iter_rows(named=True)),
        ))  # fmt: skip
    return tuple(found)


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


def _order(measured: Measured) -> tuple[OrderPoint, ...]:
    """Every timed launch, also those that failed, in the order of starting."""
    spread = measured.steady_steps.group_by("launch").agg(
        pl.col("step_s").median().alias("median_s"),
        pl.col("step_s").quantile(0.25).alias("q25_s"),
        pl.col("step_s").quantile(0.75).alias("q75_s"),
    )
    launches = measured.table("launches").filter(pl.col("role") == "timed").sort("begin_ns", "launch")
    rows = launches.join(spread, on="launch", how="left", maintain_order="left").iter_rows(named=True)
    return tuple(
        OrderPoint(
            position=position, launch=row["launch"], configuration=row["configuration"], status=row["status"],
            median_s=row["median_s"], q25_s=row["q25_s"], q75_s=row["q75_s"],
        )
        for position, row in enumerate(rows, start=1)
    )  # fmt: skip


def _faults(measured: Measured, results: Mapping[str, Mapping[str, Value]]) -> tuple[FaultTimeline, ...]:
    launches = measured.table("launches").filter(pl.col("role") == "fault").sort("launch")
    seen: dict[str, int] = {}
    found = []
    for row in launches.iter_rows(named=True):
        nth = seen.get(row["configuration"], 0)
        seen[row["configuration"]] = nth + 1
        found.append(_fault(measured, results, row, nth))
    return tuple(found)


def _fault(
    measured: Measured, results: Mapping[str, Mapping[str, Value]], launch: Mapping[str, object], nth: int
) -> FaultTimeline:
    """One fault launch; `nth` is its place among the fault launches of its configuration."""
    number, begin = int(str(launch["launch"])), int(str(launch["begin_ns"]))
    events = measured.table("events").filter((pl.col("launch") == number) & (pl.col("kind") == "fault")).sort("ns")
    event = next(events.iter_rows(named=True), None)
    fault_s = None if event is None else (event["ns"] - begin) / NS_PER_S
    phases, absent = _recovery(results, str(launch["configuration"]), fault_s, nth)
    return FaultTimeline(
        launch=number, configuration=str(launch["configuration"]), workers=int(str(launch["workers"])),
        status=str(launch["status"]), fault_s=fault_s, victim=None if event is None else event["rank"],
        signal="" if event is None else _signal(event["detail"]),
        steps_at_fault=None if event is None else event["step"],
        progress=_progress(measured.table("steps").filter(pl.col("launch") == number), begin),
        phases=phases, absent=absent,
    )  # fmt: skip


def _signal(detail: str) -> str:
    try:
        known = json.loads(detail)
    except ValueError:
        return ""
    name = str(known.get("signal", "")) if isinstance(known, dict) else ""
    return name if not name or name.startswith("SIG") else f"SIG{name}"


def _progress(steps: pl.DataFrame, begin_ns: int) -> tuple[tuple[int, float, int], ...]:
    """(incarnation, seconds, steps finished) whenever the last rank finished a step, thinned to 300 points."""
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
    results: Mapping[str, Mapping[str, Value]], configuration: str, fault_s: float | None, nth: int
) -> tuple[tuple[RecoveryPhase, ...], tuple[str, ...]]:
    """The phases end to end from the fault; the first absent one ends the chain, because nothing is known after it."""
    if fault_s is None:
        return (), ("no fault struck in this launch",)
    at, phases = fault_s, list[RecoveryPhase]()
    for metric, name in RECOVERY:
        value = results.get(metric, {}).get(configuration)
        if not isinstance(value, Estimate):
            reason = f": {value.detail}" if value is not None else ""
            return tuple(phases), (f"{name} was not measured{reason}",)
        of_launch = value.launch_values[nth] if nth < len(value.launch_values) else value.value
        phases.append(RecoveryPhase(name=name, begin_s=at, end_s=at + of_launch))
        at += of_launch
    return tuple(phases), ()
