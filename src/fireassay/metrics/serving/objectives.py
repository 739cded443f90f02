"""How many requests meet every objective, and up to which load?

Failed, refused and unsent requests meet no objective. An objective that an answer leaves undefined (time per token of a single token)
is met; one on a first token that never came is not. The line through the loads and its interval: `fireassay.stats.models.capacity`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import polars as pl

from fireassay.estimates.estimate import Absent, Value
from fireassay.estimates.over_launches import of_interval
from fireassay.frames.record_data import RecordData
from fireassay.frames.serving.outages import load_points, no_objectives, still_open, uncounted
from fireassay.frames.serving.requests import ENDED
from fireassay.metrics.metric import ALL, Metric, Results
from fireassay.metrics.serving.pooled import per_second, shares, tally, within
from fireassay.spec.plan import Configuration
from fireassay.stats.intervals.intervals import Interval
from fireassay.stats.models.capacity import capacity
from fireassay.units import FRACTION, PER_SECOND

MAX_ATTAINMENT: Final = 1.0 - 1e-9  # an attainment of 1 requires every request; no finite sample can show it
STREAMS: Final = "streams"
NO_LOADS: Final = Absent("not_applicable", "the load was not varied; give serving.rate or serving.concurrency several values")
OBJECTIVES = partial(Metric, better="higher", dimension="performance", about=("serving",), primary=True)


def _good(measured: RecordData, _: Results) -> Mapping[str, Value]:
    return per_second(
        measured,
        within(measured, ENDED, pl.col("met")),
        unit=PER_SECOND,
        name=GOODPUT.name,
        aggregate="requests that ended in the window and met every objective",
        missing="no request was answered",
    )


def _attained(measured: RecordData, _: Results) -> Mapping[str, Value]:
    """The share of those that are known; its interval holds what it would be with all open ones missed, and with all met."""
    rows = measured.counted_requests
    known = _share_of(measured, rows.filter(~pl.col("open")))
    if not rows["open"].any():
        return known
    worst, best = _share_of(measured, rows.with_columns(met=pl.col("met") & ~pl.col("open"))), _share_of(measured, rows)
    return {name: _between(measured, name, value, worst[name], best[name]) for name, value in known.items()}


def _share_of(measured: RecordData, rows: pl.DataFrame) -> dict[str, Value]:
    return shares(
        measured,
        tally(rows, pl.col("met")),
        name=SLO_ATTAINMENT.name,
        aggregate="requests that met every objective / requests due",
        missing="no request was due",
    )


def _between(measured: RecordData, configuration: str, value: Value, worst: Value, best: Value) -> Value:
    due = measured.counted_requests.filter(pl.col("configuration") == configuration)
    if not (why := still_open(due)):
        return value
    if isinstance(value, Absent) or isinstance(worst, Absent) or isinstance(best, Absent):
        return Absent("not_measured", f"a time per token is required, but {why}")
    low, high = min(value.low, worst.low), max(value.high, best.high)
    return replace(value, low=low, high=high, method=f"{value.method}; {why}: the interval counts them as missed and as met")


def _capacities(measured: RecordData, _: Results) -> Mapping[str, Value]:
    """One value, or one per engine and scenario."""
    curves: dict[tuple[str, str], list[Configuration]] = {}
    for configuration in measured.varied:
        curves.setdefault((configuration.target, configuration.scenario), []).append(configuration)
    if len(curves) == 1:
        return {ALL: capacity_of(measured, measured.varied)}
    return {member.name: value for curve in curves.values() for value in [capacity_of(measured, curve)] for member in curve}


def capacity_of(measured: RecordData, curve: Sequence[Configuration]) -> Value:
    """The capacity of one engine at one scenario, from its configurations by ascending load."""
    serving = measured.experiment.serving
    if (why := no_objectives(measured) or uncounted(measured)) is not None or serving is None:
        return why or NO_LOADS
    if any(configuration.load is None for configuration in curve):
        return NO_LOADS
    target = min(serving.objectives.attainment, MAX_ATTAINMENT)
    points = load_points(measured, curve)
    if not points:
        return Absent("not_measured", "no request was due in a measured window")
    crossing = capacity(points, target, measured.confidence)
    if crossing.refused:
        return Absent("insufficient", crossing.refused)
    estimate = of_interval(
        Interval(value=crossing.value, low=crossing.low, high=crossing.high),
        [],
        measured.confidence,
        unit=PER_SECOND if serving.rate else STREAMS,
        name=CAPACITY.name,
        n_trials=int(sum(point.total for point in points)),
        tags=f"agg:crossing of {target:g}|launches:{crossing.launches}|ci:t-band",
        method=f"load at which {100 * target:g} % of the requests meet the objectives, on the monotone line through the log odds of a "
        f"miss at {len(curve)} loads of {crossing.launches} launches; all loads within Student's t of the line",
    )
    return replace(estimate, n_launches=crossing.launches)


GOODPUT: Final = OBJECTIVES(
    name="goodput",
    title="Goodput",
    unit=PER_SECOND,
    kind="rate",
    formula="requests that ended in the window and met every objective / window",
    question="How many requests per second meet every objective?",
    caveat="Never above request_throughput, which counts the answers that ended in the same half-open window. It does not show whether "
    "the answers were right: see quality.",
    compute=_good,
    needs=frozenset({"window", "objectives", "token_times"}),
    rank=300,
    decides=1,
)
SLO_ATTAINMENT: Final = OBJECTIVES(
    name="slo_attainment",
    title="Attainment of the objectives",
    unit=FRACTION,
    kind="ratio",
    formula="requests that met every objective / requests due",
    question="What share of the requests met every objective?",
    caveat="Over the requests that were due (in a closed loop: sent) in the measured window. Student t over launches, never narrower than "
    "independent requests would have it. Where a required time per token is unknown, the value is over the other requests, and the interval "
    "holds all unknown ones as missed and as met.",
    compute=_attained,
    needs=frozenset({"objectives"}),
    rank=301,
)
CAPACITY: Final = OBJECTIVES(
    name="capacity",
    title="Capacity",
    unit=PER_SECOND,
    kind="level",
    formula="load at which slo_attainment crosses objectives.attainment",
    question="What is the highest load at which enough requests meet their objectives?",
    caveat="In requests per second where rates were requested, in streams where concurrency was. One value for the whole experiment; with "
    "several engines or scenarios one for each, under all of its configurations. Refused if the loads do not bracket it; it says nothing "
    "beyond the measured loads.",
    compute=_capacities,
    rank=302,
)
METRICS = (GOODPUT, SLO_ATTAINMENT, CAPACITY)
