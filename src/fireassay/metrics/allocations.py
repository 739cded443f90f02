"""What did the cluster take away, and how long did the run wait for nodes?

An allocation is lost if the engine ends it before the run gives it back: preemption, time limit, a failed node, a requeue, scancel.  Its launch
is aborted and made again: that time is lost work, and its price a part of the cost (`cost_lost_work`).  Waiting in the queue is shown and not
priced: nobody pays for it.
Cannot tell: time of nodes that were held while no launch ran, and launches whose coordinator was killed with its nodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import polars as pl

from fireassay.estimates.estimate import Absent, Value
from fireassay.estimates.over_launches import exact
from fireassay.frames.costs import allocations, lost_launches
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import ALL, WORKLOADS, Metric, Results
from fireassay.units import COUNT, NS_PER_S, SECONDS

NO_QUEUE = Absent("not_measured", "the engine did not say how long the allocations waited")


def _exact(value: float, unit: str, name: str, of: Sequence[Any], how: str) -> Mapping[str, Value]:
    return {ALL: exact(value, unit=unit, name=name, n_launches=len(of), n_trials=len(of), how=how)}


def _lost(measured: RecordData, _: Results) -> Mapping[str, Value]:
    every = allocations(measured)
    ends = Counter(str(one.get("end")) for one in every if one.get("lost"))
    words = ", ".join(f"{end} {times}" for end, times in ends.most_common()) or "none"
    return _exact(float(ends.total()), COUNT, "allocations_lost", every, f"{words}; of {len(every)} allocations")


def _waited(measured: RecordData, _: Results) -> Mapping[str, Value]:
    found = [float(one["waited_s"]) for one in allocations(measured) if isinstance(one.get("waited_s"), int | float)]
    if not found:
        return {ALL: NO_QUEUE}
    return _exact(sum(found), SECONDS, "queue_wait", found, f"sum over {len(found)} allocations, from the request to the nodes")


def _lost_time(measured: RecordData, _: Results) -> Mapping[str, Value]:
    launches = measured.table("launches").filter(pl.col("launch").is_in(sorted(lost_launches(measured))))
    seconds = ((launches["end_ns"] - launches["begin_ns"]) / NS_PER_S).to_list()
    return _exact(float(sum(seconds)), SECONDS, "allocation_lost_time", seconds, "sum over launches that ended with their allocation")


measure = partial(Metric, better="lower", dimension="reliability", about=WORKLOADS, requested=lambda measured: bool(allocations(measured)))
METRICS = (
    measure(
        name="allocations_lost",
        title="Allocations lost",
        unit=COUNT,
        kind="count",
        formula="allocations that the engine ended before they were given back",
        compute=_lost,
        question="How often did the cluster take the nodes away?",
        caveat="An allocation whose coordinator was killed has no known end and is not counted.",
        rank=1820,
    ),
    measure(
        name="allocation_lost_time",
        title="Time of launches that ended with their allocation",
        unit=SECONDS,
        kind="cost",
        formula="sum of wall time over aborted launches with an event allocation_end",
        compute=_lost_time,
        question="How much launch time was made again because the cluster took the nodes away?",
        caveat="A training is made again from its beginning, whatever it had saved.",
        rank=1821,
    ),
    measure(
        name="queue_wait",
        title="Waiting in the queue",
        unit=SECONDS,
        kind="cost",
        formula="sum over allocations of the time from the request to the nodes",
        compute=_waited,
        question="How long did the experiment wait for nodes?",
        caveat="Shown, not priced. In a batch job the controller's StartTime less SubmitTime.",
        rank=1822,
    ),
)
