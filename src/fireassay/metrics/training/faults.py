"""What does a fault cost a training run: time, steps, work, dollars?

Durations lie between instants of the timeline of each fault launch (`fireassay.frames.training.recovery`). Goodput is productive
rank-seconds over workers x wall time (`fireassay.frames.training.rank_time`). Lost rank-seconds = detect + restart + reload + recompute of
all ranks, plus the time a lasting fault added to their steps, and the time of restarted workers' first steps beyond a usual one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from operator import attrgetter
from typing import Final

import numpy as np
import polars as pl

from fireassay.estimates.estimate import Absent, Value
from fireassay.estimates.over_launches import average, exact, no_launch, of_interval, positive
from fireassay.frames.clock_offsets import on_one_clock
from fireassay.frames.costs import NO_PRICES, energy_method, energy_readings, no_energy, usd_per_second
from fireassay.frames.record_data import RecordData
from fireassay.frames.record_tables import once_per_record
from fireassay.frames.training.rank_time import CATEGORIES, HELD_UP
from fireassay.frames.training.rank_time import partition as of_ranks
from fireassay.frames.training.recovery import (
    NO_FAULT,
    NOT_RECOVERED,
    Recovery,
    duration_metric,
    noticed_ns,
    recoveries,
    strikes,
    struck_launches,
    unknown_progress,
    unrecovered,
    unstruck,
)
from fireassay.frames.training.work import MARK_STEPS
from fireassay.metrics.metric import Metric, Results
from fireassay.stats.intervals.means import quotient
from fireassay.units import COUNT, FRACTION, JOULES, NS_PER_S, SECONDS, STEPS, USD

measure = partial(Metric, better="lower", dimension="reliability")
NO_STEPS = Absent("not_measured", MARK_STEPS)
LOST = ("detect", "restart", "reload", "recompute", HELD_UP)
MIN_PERIODS: Final = 3  # readings of the energy counters while the job was broken
COST_HOW = "lost rank-seconds x price of a worker"
ENERGY_HOW = "mean power while the job was broken x lost rank-seconds / workers"
RESTARTS_HOW = "highest incarnation of any rank; most of any fault launch"
ONE_LAUNCH = "One fault launch has no interval: request more to have one."
Instant = Callable[[Recovery], int | None]
FAULT, DETECTED, RESTARTED, RESUMED, REGAINED = map(attrgetter, ("fault_ns", "detected_ns", "restarted_ns", "resumed_ns", "regained_ns"))
TIMELINE: tuple[tuple[str, str, Instant, Instant, str, str], ...] = (  # name, title, begin, end, in words, question
    (
        "recovery_time",
        "Recovery time",
        FAULT,
        REGAINED,
        "fault until the lost progress is regained",
        "How long after a fault is the lost progress regained?",
    ),
    (
        "time_to_detect",
        "Time to detect",
        FAULT,
        DETECTED,
        "fault until the engine stops the first surviving peer",
        "How long does the engine take to notice a dead worker?",
    ),
    (
        "time_to_restart",
        "Time to restart",
        noticed_ns,
        RESTARTED,
        "detection until the last worker has started again",
        "How long does the engine take to start all workers again?",
    ),
    (
        "time_to_reload",
        "Time to reload",
        RESTARTED,
        RESUMED,
        "last worker's start until the first step, checkpoint load included",
        "How long until restarted workers train again?",
    ),
    (
        "time_to_recompute",
        "Time to recompute",
        RESUMED,
        REGAINED,
        "first step after the restart until the lost progress is regained",
        "How long does it take to repeat the lost steps?",
    ),
)


def _duration(measured: RecordData, _: Results, *, name: str, begin: Instant, end: Instant, how: str) -> Mapping[str, Value]:
    return duration_metric(measured, name, begin, end, how, needs_peer=end is DETECTED)


DURATIONS = tuple(
    measure(
        name=name,
        title=title,
        unit=SECONDS,
        kind="cost",
        formula=how,
        compute=partial(_duration, name=name, begin=begin, end=end, how=how),
        primary=name == "recovery_time",
        question=question,
        caveat=ONE_LAUNCH,
        rank=rank,
    )
    for rank, (name, title, begin, end, how, question) in enumerate(TIMELINE, 1800)
)
RECOVERY_TIME, TIME_TO_DETECT, TIME_TO_RESTART, TIME_TO_RELOAD, TIME_TO_RECOMPUTE = DURATIONS


def _steps_lost(measured: RecordData, _: Results) -> Mapping[str, Value]:
    values: dict[str, Value] = {}
    every = recoveries(measured)
    for name in measured.configurations:
        group = [recovery for recovery in every if recovery.configuration == name]
        lost: dict[int, int] = {}
        for recovery in group:
            if recovery.steps_lost is not None:
                lost[recovery.launch] = lost.get(recovery.launch, 0) + recovery.steps_lost
        if not group:
            values[name] = unstruck(measured, name)
        elif not lost:
            values[name] = unrecovered(group)
        else:
            values[name] = exact(
                float(max(lost.values())),
                unit=STEPS,
                name="steps_lost",
                n_launches=len(lost),
                n_trials=len(lost),
                how="steps finished before the fault less the first step after the restart; most of any fault launch",
            )
    return values


STEPS_LOST = measure(
    name="steps_lost",
    title="Steps lost",
    unit=STEPS,
    kind="count",
    formula="steps finished before the fault - first step after the restart",
    compute=_steps_lost,
    question="How many finished steps does a fault cost?",
    caveat="It depends on when between two checkpoints the fault struck, which the plan draws at random.",
    rank=1805,
)


@once_per_record
def partition(measured: RecordData, role: str) -> pl.DataFrame:
    """(launch, configuration, workers, block, wall_s, one column of rank-seconds per category) of a role's launches.

    `timed`: the successful ones; `fault`: those in which a fault struck. See `fireassay.frames.training.rank_time`. Memoised.
    """
    launches = _launches(measured, role)
    wall = ((pl.col("end_ns") - pl.col("begin_ns")) / NS_PER_S).alias("wall_s")
    base = launches.select("launch", "configuration", "workers", "block", wall)
    seconds = _ranks(measured, role).group_by("launch").agg(pl.col(name).sum() / NS_PER_S for name in CATEGORIES)
    return base.join(seconds, on="launch").sort("launch")


def _launches(measured: RecordData, role: str) -> pl.DataFrame:
    return measured.timed if role == "timed" else struck_launches(measured)


def _ranks(measured: RecordData, role: str) -> pl.DataFrame:
    return measured.once(f"rank time {role}", lambda data: of_ranks(data, _launches(data, role)))


def _goodput(measured: RecordData, _: Results, *, role: str, name: str) -> Mapping[str, Value]:
    parts = partition(measured, role)
    marked = set(measured.stepped["launch"].unique().to_list())
    return {configuration: _productive(measured, parts, marked, role, name, configuration) for configuration in measured.configurations}


def _productive(measured: RecordData, parts: pl.DataFrame, marked: set[int], role: str, name: str, configuration: str) -> Value:
    rows = parts.filter(pl.col("configuration") == configuration)
    if rows.height == 0:
        return no_launch(configuration) if role == "timed" else NO_FAULT
    rows = rows.filter(pl.col("launch").is_in(list(marked)) & (pl.col("wall_s") > 0.0))  # a skipped launch took no time
    if rows.height == 0:
        return Absent("not_measured", MARK_STEPS)
    refused = {launch: Absent("refused", why) for launch, why in on_one_clock(measured).troubles.items()}
    troubles = dict(unknown_progress(measured)) | refused  # such a launch is all unknown, which is not a goodput of 0
    rows, apart = rows.filter(~pl.col("launch").is_in(list(troubles))), rows
    if rows.height == 0:
        return troubles[apart["launch"][0]]
    rank_seconds = rows["workers"] * rows["wall_s"]
    shares = (rows["productive"] / rank_seconds).to_list()
    return of_interval(
        quotient(rows["productive"].to_list(), rank_seconds.to_list(), measured.confidence),
        shares,
        measured.confidence,
        unit=FRACTION,
        name=name,
        n_trials=len(shares),
        tags="agg:productive share of workers x wall time|ci:t-quotient",
        method=f"sum of productive rank-seconds / sum of workers x wall time over {len(shares)} launches, Student t",
    )


GOODPUTS = (  # name, role of the launches, title, question
    ("training_goodput", "timed", "Training goodput", "What share of the paid rank-seconds trained the model?"),
    (
        "training_goodput_fault",
        "fault",
        "Training goodput with a fault",
        "What share of the paid rank-seconds trained the model, when a worker was killed?",
    ),
)
TRAINING_GOODPUT, TRAINING_GOODPUT_FAULT = (
    measure(
        name=name,
        title=title,
        unit=FRACTION,
        kind="ratio",
        better="higher",
        formula=f"productive rank-seconds / all rank-seconds of the {role} launches",
        compute=partial(_goodput, role=role, name=name),
        question=question,
        caveat="Exposed communication that no instrument recorded counts as productive.",
        rank=rank,
    )
    for rank, (name, role, title, question) in enumerate(GOODPUTS, 1806)
)


def _restarts(measured: RecordData, _: Results) -> Mapping[str, Value]:
    launches = struck_launches(measured)
    seen = (
        measured.table("events").filter(pl.col("kind") == "worker_start").group_by("launch").agg(pl.col("incarnation").max().alias("seen"))
    )
    counted = launches.join(seen, on="launch", how="left").with_columns(most=pl.max_horizontal("restarts", "seen"))
    values: dict[str, Value] = {}
    for name in measured.configurations:
        counts = counted.filter(pl.col("configuration") == name)["most"].to_list()
        values[name] = (
            exact(float(max(counts)), unit=COUNT, name="restarts", n_launches=len(counts), n_trials=len(counts), how=RESTARTS_HOW)
            if counts
            else NO_FAULT
        )
    return values


RESTARTS = measure(
    name="restarts",
    title="Restarts",
    unit=COUNT,
    kind="count",
    formula=RESTARTS_HOW,
    compute=_restarts,
    about=("training",),
    question="How often were the workers restarted?",
    caveat="As reported by every rank: an engine's own counter may cover one node only (pytorch#108158, #135712).",
    rank=1808,
)


def lost_seconds(measured: RecordData) -> pl.DataFrame:
    """(launch, configuration, workers, value): rank-seconds that the fault of each struck launch cost, if known."""
    ended = struck_launches(measured).filter(pl.col("status") == "ok")
    launches = ended.filter(~pl.col("launch").is_in(list(_unexplained(measured))))
    lost = pl.sum_horizontal(*(pl.col(name) for name in LOST)).sum() / NS_PER_S
    of_launch = _ranks(measured, "fault").group_by("launch").agg(lost.alias("value"))
    return launches.select("launch", "configuration", "workers").join(of_launch, on="launch").sort("launch")


def _unexplained(measured: RecordData) -> Mapping[int, Absent]:
    """launch -> why its rank-seconds cannot be attributed, for launches with all time unknown."""
    stepped = set(measured.stepped["launch"].unique().to_list())
    unmarked = {launch: NO_STEPS for launch in struck_launches(measured)["launch"].to_list() if launch not in stepped}
    troubles = on_one_clock(measured).troubles
    refused = {launch: Absent("refused", why) for launch, why in troubles.items()}
    return {**unmarked, **unknown_progress(measured), **refused}


def _unknown(measured: RecordData, configuration: str) -> Absent:
    """Why the cost of the fault is unknown in every struck launch of the configuration."""
    struck = struck_launches(measured).filter((pl.col("configuration") == configuration) & (pl.col("status") == "ok"))
    unexplained = _unexplained(measured)
    return next((unexplained[launch] for launch in struck["launch"].to_list() if launch in unexplained), NOT_RECOVERED)


def windows(measured: RecordData) -> Mapping[int, tuple[tuple[int, int], ...]]:
    """launch -> intervals in which it was broken, monotonic ns; without launches that did not recover."""
    intervals: dict[int, list[tuple[int, int]]] = {}
    recovered = {(recovery.launch, recovery.fault_ns): recovery.regained_ns for recovery in recoveries(measured)}
    measured = on_one_clock(measured).measured  # as recoveries are; never pass it to `recoveries`, which aligns the clocks itself
    ends = measured.table("events").filter(pl.col("kind") == "fault_end").select("launch", until="ns").sort("until")
    struck = strikes(measured).select("launch", "ns").sort("ns")
    timed = struck.join_asof(ends, left_on="ns", right_on="until", by="launch", strategy="forward", coalesce=False, check_sortedness=False)
    for launch, begin, undone in timed.sort("launch", "ns").iter_rows():
        end = recovered.get((launch, begin)) or undone
        if end is not None and end > begin:
            broken = intervals.setdefault(launch, [])
            if broken and broken[-1][1] >= begin:  # struck again before it had recovered
                broken[-1] = (broken[-1][0], max(end, broken[-1][1]))
            else:
                broken.append((begin, end))
    return {launch: tuple(broken) for launch, broken in intervals.items()}


def _per_configuration(
    measured: RecordData, values: pl.DataFrame, of: Callable[[Mapping[str, float]], float], *, unit: str, name: str, how: str
) -> Mapping[str, Value]:
    """One estimate per configuration of `of(row)` over the struck launches of a frame such as that of `lost_seconds`."""
    struck = set(struck_launches(measured)["configuration"].to_list())
    estimates: dict[str, Value] = {}
    for configuration in measured.configurations:
        rows = values.filter(pl.col("configuration") == configuration).to_dicts()
        numbers = [of(row) for row in rows]
        if configuration not in struck:
            estimates[configuration] = NO_FAULT
        elif not numbers:
            estimates[configuration] = _unknown(measured, configuration)
        elif max(numbers) == 0.0:
            estimates[configuration] = exact(0.0, unit=unit, name=name, n_launches=len(numbers), n_trials=len(numbers), how=how)
        else:
            estimator = positive if min(numbers) > 0.0 else average
            estimates[configuration] = estimator(numbers, measured.confidence, unit=unit, aggregate=how, name=name, n_trials=len(numbers))
    return estimates


def _cost_lost(measured: RecordData, _: Results) -> Mapping[str, Value]:
    rates = usd_per_second(measured)
    if rates is None:
        return dict.fromkeys(measured.configurations, NO_PRICES)
    of_worker = {name: rates.get(name, math.nan) / workers for name, workers in zip(measured.configurations, measured.levels, strict=True)}
    lost = lost_seconds(measured).filter(pl.col("configuration").is_in(list(rates)))
    return _per_configuration(
        measured, lost, lambda row: row["value"] * of_worker[str(row["configuration"])], unit=USD, name="cost_lost", how=COST_HOW
    )


COST_LOST = measure(
    name="cost_lost",
    title="Cost of a fault",
    unit=USD,
    kind="cost",
    formula=COST_HOW,
    compute=_cost_lost,
    about=("training",),
    question="How many dollars does one fault cost?",
    caveat="Per fault; multiply by the frequency of faults.",
    rank=1809,
)


def _energy_lost(measured: RecordData, _: Results) -> Mapping[str, Value]:
    method = energy_method(measured)
    if method is None:
        return dict.fromkeys(measured.configurations, no_energy(measured))
    lost = lost_seconds(measured)
    watts = {launch: power for launch, spans in windows(measured).items() if (power := _watts(measured, method, launch, spans))}
    known = lost.filter(pl.col("launch").is_in(list(watts)))
    values = _per_configuration(
        measured,
        known,
        lambda row: watts[int(row["launch"])] * row["value"] / row["workers"],
        unit=JOULES,
        name=f"energy_lost|method:{method}",
        how=ENERGY_HOW,
    )
    short = Absent(
        "insufficient", f"the job was broken for fewer than {MIN_PERIODS} readings of the energy counters; lower energy.sample_every_s"
    )
    broken = set(lost["configuration"].to_list()) - set(known["configuration"].to_list())
    return {name: short if name in broken else value for name, value in values.items()}


def _watts(measured: RecordData, method: str, launch: int, spans: tuple[tuple[int, int], ...]) -> float | None:
    """Mean power of all devices in intervals of monotonic ns; None if there are too few readings of one of them."""
    readings = energy_readings(on_one_clock(measured).measured).filter(pl.col("launch") == launch)  # as the windows are
    total = 0.0
    for device in readings.partition_by("host", "device"):
        rows = device.sort("ns")
        ns, joules = rows["ns"].to_numpy(), rows["value"].to_numpy()
        if sum(int(((ns >= begin) & (ns <= end)).sum()) for begin, end in spans) < MIN_PERIODS:
            return None
        at = np.interp(np.array(spans, dtype=float), ns.astype(float), joules)
        total += float((at[:, 1] - at[:, 0]).sum())
    return total / (sum(end - begin for begin, end in spans) / NS_PER_S) if readings.height else None


ENERGY_LOST = measure(
    name="energy_lost",
    title="Energy of a fault",
    unit=JOULES,
    kind="cost",
    formula=ENERGY_HOW,
    compute=_energy_lost,
    about=("training",),
    question="How many joules does one fault cost?",
    caveat="Counters measure whole devices, and include idle power.",
    rank=1810,
)
METRICS = (*DURATIONS, STEPS_LOST, TRAINING_GOODPUT, TRAINING_GOODPUT_FAULT, RESTARTS, COST_LOST, ENERGY_LOST)
