"""How unequal are the ranks, and how exact are their clocks?

A rank's time: the step without waiting for communication (`fireassay.frames.training.rank_phases`), from durations on one host only,
so that clock offsets do not matter. Half of a round trip bounds the offset between two clocks (RFC 5905).

How long is each phase of a step?

Each phase is that of the slowest rank of a step; a launch's value is the median over its steady steps. Phases and the unknown
rest add up to the step.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import polars as pl

from fireassay.estimates.estimate import Absent, Value
from fireassay.estimates.over_launches import average, no_launch
from fireassay.frames.clock_offsets import HostClock, clock_offsets
from fireassay.frames.per_launch import from_frame
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.rank_phases import ONE_RANK, Own, own_times
from fireassay.frames.training.work import MARK_STEPS
from fireassay.metrics.metric import Metric, Results
from fireassay.stats.groups.stragglers import beyond_others, lost_waiting
from fireassay.units import FRACTION, NS_PER_S, SECONDS

UNSEEN = (
    "no launch recorded how long its ranks waited for communication; run the script without its own marks (assay attaches itself), or "
    "record its collectives"
)
ONE_HOST = Absent("not_applicable", "all workers ran on one host, which has one clock")


def _waiting(measured: RecordData, _: Results) -> Mapping[str, Value]:
    rows = [
        (times.launch, float(lost_waiting(times.whole).mean()), len(times.step_s))
        for times in own_times(measured)
        if times.whole is not None
    ]
    values = from_frame(
        measured,
        pl.DataFrame(rows, schema={"launch": pl.Int32, "value": pl.Float64, "steps": pl.Int64}, orient="row"),
        unit=SECONDS,
        name="straggler_wait",
        missing=UNSEEN,
        trials="steps",
        aggregate="mean over steady steps and ranks of the time until the slowest rank was ready",
    )
    alone = {item.name for item in measured.varied if item.workers == 1}
    return {name: Absent("not_applicable", ONE_RANK) if name in alone else value for name, value in values.items()}


STRAGGLER_WAIT = Metric(
    name="straggler_wait",
    title="Waiting for the slowest rank, per rank",
    unit=SECONDS,
    kind="cost",
    better="lower",
    dimension="performance",
    formula="mean over steps and ranks of (own time of the slowest rank - own time), seconds of each rank a step",
    compute=_waiting,
    question="How long does a rank wait in a step, on average over ranks, for the slowest?",
    caveat="It includes luck as well as slowness: slowest_rank_excess separates them. Communication may hide part of it.",
    rank=1490,
)


def _excess(measured: RecordData, _: Results) -> Mapping[str, Value]:
    launches = [times for times in own_times(measured) if times.whole is not None]
    timed = set(measured.timed["configuration"].to_list())
    values: dict[str, Value] = {}
    for item in measured.varied:
        members = [launch for launch in launches if launch.configuration == item.name]
        if item.workers == 1:
            values[item.name] = Absent("not_applicable", ONE_RANK)
        elif members:
            values[item.name] = average(  # it may be 0
                [share(launch) for launch in members],
                measured.confidence,
                unit=FRACTION,
                name="slowest_rank_excess",
                aggregate="largest median excess of a rank over the median step",
                n_trials=sum(len(launch.step_s) for launch in members),
            )
        else:
            values[item.name] = Absent("not_measured", UNSEEN) if item.name in timed else no_launch(item.name)
    return values


def share(times: Own) -> float:
    """Excess of the slowest rank in a launch with known waiting."""
    assert times.whole is not None
    return float(np.median(beyond_others(times.whole), axis=0).max() / np.median(times.step_s))


SLOWEST_RANK_EXCESS = Metric(
    name="slowest_rank_excess",
    title="Excess of the slowest rank",
    unit=FRACTION,
    kind="ratio",
    better="lower",
    dimension="performance",
    formula="max over ranks of median over steps (own time - upper median of the others') / median step time",
    compute=_excess,
    question="By what share of a step is one rank slower than the others, throughout a launch?",
    caveat="It misses a rank that is late in fewer than half of its steps, and as a maximum lies a little above 0 for equal ranks.",
    rank=1491,
)


def _clock_bound(measured: RecordData, _: Results) -> Mapping[str, Value]:
    timed = dict(measured.timed.select("launch", "configuration").iter_rows())
    clocks: dict[str, list[HostClock]] = {}
    for (launch, _host), clock in clock_offsets(measured).items():
        if launch in timed:
            clocks.setdefault(timed[launch], []).append(clock)
    rows = [(clock.launch, clock.bound / NS_PER_S) for group in clocks.values() for clock in group if clock.known]
    bounds = pl.DataFrame(rows, schema={"launch": pl.Int32, "value": pl.Float64}, orient="row").group_by("launch")
    values = from_frame(
        measured,
        bounds.agg(pl.col("value").max()),
        unit=SECONDS,
        name="clock_bound",
        missing="no worker reported its host",
        trials="launches",
        aggregate="largest bound of a host's clock against rank 0's",
    )
    return {name: _bound(name, clocks.get(name), values[name]) for name in measured.configurations}


def _bound(name: str, clocks: list[HostClock] | None, value: Value) -> Value:
    if clocks is None:
        return value if isinstance(value, Absent) else no_launch(name)
    if len({clock.host for clock in clocks}) == 1:
        return ONE_HOST
    unknown = next((clock for clock in clocks if not clock.known), None)
    if unknown is not None:
        return Absent("not_measured", f"the clock of {unknown.host} in launch {unknown.launch}: {unknown.trouble}")
    return value


CLOCK_BOUND = Metric(
    name="clock_bound",
    title="Bound of hosts' clocks",
    unit=SECONDS,
    kind="cost",
    better="lower",
    dimension="performance",
    formula="max over hosts of the bound of its clock's offset against rank 0's",
    compute=_clock_bound,
    about=("training",),
    question="How far off may one host's times be on another's clock?",
    caveat="A bound, not the error itself; intervals between hosts need ten bounds. It says nothing about the time of day.",
    rank=1492,
)


NO_LOADER = "no wait for a DataLoader was recorded, and the script did not mark its steps; iterate over probe.steps(loader)"
UNMARKED = 'the script did not mark this phase; use: with probe.phase("{phase}")'
NOT_ALL_OF_IT = "Under DDP and FSDP the backward pass contains communication; it is not a communication time."
PHASES = (  # phase, title, question, caveat, why there is none
    ("data", "Waiting for data", "How long does a step wait for its batch?", "A prefetching loader hides the cost of loading.", NO_LOADER),
    ("forward", "Forward pass", "How long is the forward pass?", NOT_ALL_OF_IT, UNMARKED),
    ("backward", "Backward pass", "How long is the backward pass, with the communication that overlaps it?", NOT_ALL_OF_IT, UNMARKED),
    ("optimizer", "Optimizer step", "How long does the optimizer step take?", NOT_ALL_OF_IT, UNMARKED),
    ("unknown", "Rest of the step", "How much of a step belongs to no marked phase?", "It is the step less the marked phases.", MARK_STEPS),
)


def _phase_time(measured: RecordData, _: Results, *, phase: str, missing: str) -> Mapping[str, Value]:
    medians = measured.once("phase medians", _medians)
    return {name: _estimate(measured, medians, name, phase, missing) for name in measured.configurations}


def _medians(measured: RecordData) -> dict[int, dict[str, Any]]:
    """launch -> its row (data_s, data_steps, ...): each phase's median over the steady steps, and the number of steps with it."""
    expressions = [(pl.col(f"{phase}_s").median(), pl.col(f"{phase}_s").count().alias(f"{phase}_steps")) for phase, *_ in PHASES]
    rows = measured.steady_steps.group_by("launch").agg(*chain.from_iterable(expressions))
    return {row["launch"]: row for row in rows.iter_rows(named=True)}


def _estimate(measured: RecordData, medians: Mapping[int, Mapping[str, Any]], configuration: str, phase: str, missing: str) -> Value:
    launches = measured.timed_by_block.get(configuration, ())
    if not launches:
        return no_launch(configuration)
    rows = [medians[launch] for launch, _ in launches if launch in medians]
    present = [row for row in rows if row[f"{phase}_s"] is not None]
    if not present:
        return Absent("not_measured", missing)
    result = average(  # phases may be 0, so no logarithm
        [row[f"{phase}_s"] for row in present],
        measured.confidence,
        unit=SECONDS,
        name=f"{phase}_time",
        aggregate=f"median over steady steps of the slowest rank's {phase} phase",
        n_trials=sum(row[f"{phase}_steps"] for row in present),
    )
    # The rest is negative if the marked phases exceed their step: that must stay visible.
    return replace(result, low=max(result.low, 0.0)) if result.value >= 0.0 and math.isfinite(result.low) else result


DATA_TIME, FORWARD_TIME, BACKWARD_TIME, OPTIMIZER_TIME, UNKNOWN_TIME = PHASE_TIMES = tuple(
    Metric(
        name=f"{phase}_time",
        title=title,
        unit=SECONDS,
        kind="cost",
        better="lower",
        dimension="performance",
        formula=f"median over steps of the slowest rank's {phase} phase",
        compute=partial(_phase_time, phase=phase, missing=missing.format(phase=phase)),
        question=question,
        caveat=caveat,
        rank=rank,
    )
    for rank, (phase, title, question, caveat, missing) in enumerate(PHASES, 1400)
)
METRICS = (STRAGGLER_WAIT, SLOWEST_RANK_EXCESS, CLOCK_BOUND, *PHASE_TIMES)
