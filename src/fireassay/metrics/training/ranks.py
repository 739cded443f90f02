"""How unequal are the ranks, and how exact are their clocks?

A rank's time: the step without waiting for communication (`fireassay.frames.training.rank_phases`), from durations on one host only,
so that clock offsets do not matter. Half of a round trip bounds the offset between two clocks (RFC 5905).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from fireassay.estimates.estimate import Absent, Value
from fireassay.estimates.over_launches import average, no_launch
from fireassay.frames.clock_offsets import HostClock, clock_offsets
from fireassay.frames.per_launch import from_frame
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.rank_phases import ONE_RANK, Own, own_times
from fireassay.metrics.metric import Metric, Results
from fireassay.stats.groups.stragglers import beyond_others, lost_waiting
from fireassay.units import FRACTION, NS_PER_S, SECONDS

UNSEEN = (
    "no launch recorded how long its ranks waited for communication; run the script without its own marks (assay attaches itself), or "
    "record its collectives"
)
ONE_HOST = Absent(reason="not_applicable", detail="all workers ran on one host, which has one clock")


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
    return {name: Absent(reason="not_applicable", detail=ONE_RANK) if name in alone else value for name, value in values.items()}


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
            values[item.name] = Absent(reason="not_applicable", detail=ONE_RANK)
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
            values[item.name] = Absent(reason="not_measured", detail=UNSEEN) if item.name in timed else no_launch(item.name)
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
        return Absent(reason="not_measured", detail=f"the clock of {unknown.host} in launch {unknown.launch}: {unknown.trouble}")
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

METRICS = (STRAGGLER_WAIT, SLOWEST_RANK_EXCESS, CLOCK_BOUND)
