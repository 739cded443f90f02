"""Are the requests, their rate and their times consistent, and was the load steady?

Little's law: mean requests in flight = planned arrivals per second x mean time from due to done. The left side is an integral over the
requests' rows, the right side takes its rate from the schedule: missing rows or wrong times make them differ by more than 2 %. So do
requests under way at an edge of the window; the law is tested only if the window spans at least 200 mean times, which in a stable system
leaves less than about 1 %. A few hung requests leave more: the sides must still differ after correcting for what was under way at both
edges, within the launch.

A growing queue: in an open loop, more than twice as many requests (and at least 8 more) in flight in the last quarter of the window as in
the first. The server cannot keep up, every number depends on the duration of the load, and "the latency at this rate" does not exist.
Cannot tell: a queue that would start to grow later. Source: Little, Operations Research 9, 1961.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fireassay.estimates.format import count, given, percent
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.stats.models.queueing import TOLERANCE
from fireassay.units import NS_PER_S
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.affected import by_configuration, in_launches, most
from fireassay.verdict.evidence.sent_requests import begins, length_ns, planned, rows, serving_of
from fireassay.verdict.types import Finding

LONG_ENOUGH: Final = 200.0  # mean times; the edges are then at most about 2/200 of the area, with opposite signs
FEWEST: Final = 100  # requests
GREW: Final = 2.0
GREW_BY: Final = 8.0


@dataclass(frozen=True, kw_only=True)
class Flow:
    """One launch's window."""

    launch: int
    configuration: str
    in_flight: float  # on average
    arrivals: float  # per second, by the schedule
    mean_s: float
    tested: bool  # whether the window is long enough for the law
    first: float  # mean in flight in the first quarter
    last: float  # mean in flight in the last quarter
    edges: float  # time spent after the window by requests due inside, less time spent inside by those due before; per second

    @property
    def residual(self) -> float:
        """Relative difference of the two sides."""
        return (self.in_flight - self.arrivals * self.mean_s) / self.in_flight

    @property
    def broken(self) -> bool:
        """Whether the two sides differ, and the window's edges do not explain it."""
        unexplained = self.residual + self.edges / self.in_flight
        return min(abs(self.residual), abs(unexplained)) > TOLERANCE


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """At most one finding per configuration for the law and one for a growing queue."""
    flows = list(fold(measured))
    return tuple(f for name in measured.configurations for f in _of(measured, name, [flow for flow in flows if flow.configuration == name]))


def _of(measured: RecordData, name: str, flows: list[Flow]) -> Iterator[Finding]:
    tested = [flow for flow in flows if flow.tested]
    broken = [flow for flow in tested if flow.broken]
    if broken:
        worst = max(broken, key=lambda flow: abs(flow.residual))
        evidence = (
            f"{given(worst.in_flight, 3)} requests were in flight on average, but {given(worst.arrivals, 3)} planned per second at "
            f"{given(worst.mean_s, 3)} s each are {given(worst.arrivals * worst.mean_s, 3)}: {percent(abs(worst.residual), beside=(TOLERANCE,))} apart, at "
            f"most {percent(TOLERANCE, 12)} are allowed ({in_launches(f.launch for f in broken)})"
        )
        remedy = "requests are missing or their times are wrong: see the audit `ledger` and the requests' rows"
        yield Finding("littles_law", "invalid" if most(len(broken), len(tested)) else "warning", name, evidence, remedy)
    grown = [flow for flow in flows if flow.last > GREW * flow.first and flow.last - flow.first >= GREW_BY]
    if grown and _is_open(measured):
        worst = max(grown, key=lambda flow: flow.last - flow.first)
        evidence = (
            f"the requests in flight grew from {given(worst.first, 3)} in the first quarter of the window to {given(worst.last, 3)} in the last, "
            f"in {len(grown)} of {count(len(flows), 'launches')}: the server cannot keep up, and its latencies depend on the duration of the load"
        )
        yield Finding("queue_grew", "warning", name, evidence, "quote no latency of this load; the throughput is the server's maximum")


def _is_open(measured: RecordData) -> bool:
    return serving_of(measured).arrivals.process not in ("closed", "single_stream", "multi_stream", "offline")


def fold(measured: RecordData) -> Iterator[Flow]:
    """The window of every timed launch with requests."""
    requests = rows(measured, "scheduled_ns", "done_ns").filter(pl.col("phase") != "cold")
    whole = planned(measured, "due_ns", "phase")
    ends = dict(measured.table("launches").select("launch", "end_ns").iter_rows())
    starts = dict(begins(measured).iter_rows())
    length, warm = length_ns(measured), round(serving_of(measured).arrivals.warm_up_s * NS_PER_S)
    for _, group in by_configuration(measured, requests):
        for frame in group.partition_by("launch", maintain_order=True):
            launch = int(frame["launch"][0])
            if launch not in starts:
                continue
            window = ((starts[launch] + warm) / NS_PER_S, (starts[launch] + length) / NS_PER_S)
            due = whole.filter((pl.col("launch") == launch) & (pl.col("due_ns") >= warm) & (pl.col("due_ns") < length)).height
            follows = bool(whole.filter((pl.col("launch") == launch) & (pl.col("phase") != "cold"))["due_ns"].null_count())
            flow = _flow(frame, window, None if follows or not due else due, ends[launch] / NS_PER_S)
            if flow is not None:
                yield flow


def _flow(frame: pl.DataFrame, window: tuple[float, float], due: int | None, end: float) -> Flow | None:
    """`due`: requests planned in the window; None if successors have no planned time, so that rows are counted."""
    begin_s = frame["scheduled_ns"].to_numpy() / NS_PER_S
    end_s = frame["done_ns"].fill_null(round(end * NS_PER_S)).to_numpy() / NS_PER_S
    inside = (begin_s >= window[0]) & (begin_s < window[1])
    length = window[1] - window[0]
    area = _in_flight(begin_s, end_s, *window) * length
    if area <= 0.0 or not inside.any():
        return None
    mean = float((end_s - begin_s)[inside].mean())
    late = np.clip(np.minimum(end_s, end)[inside] - window[1], 0.0, None).sum()
    early = np.clip((np.minimum(end_s, window[1]) - window[0])[begin_s < window[0]], 0.0, None).sum()
    quarter = length / 4.0
    arrived = int(inside.sum()) if due is None else due
    return Flow(
        launch=int(frame["launch"][0]),
        configuration=str(frame["configuration"][0]),
        in_flight=area / length,
        arrivals=arrived / length,
        mean_s=mean,
        tested=length >= LONG_ENOUGH * mean and arrived >= FEWEST,
        first=_in_flight(begin_s, end_s, window[0], window[0] + quarter),
        last=_in_flight(begin_s, end_s, window[1] - quarter, window[1]),
        edges=float(late - early) / length,
    )


def _in_flight(begin_s: NDArray[np.float64], end_s: NDArray[np.float64], first: float, last: float) -> float:
    return float(np.clip(np.minimum(end_s, last) - np.maximum(begin_s, first), 0.0, None).sum()) / (last - first)


def blind(measured: RecordData, _: Results) -> str | None:
    """Blind with windows too short for the law."""
    flows = list(fold(measured))
    if any(flow.tested for flow in flows):
        return None
    return f"no window is long enough to test the law: {LONG_ENOUGH:g} mean latencies and {FEWEST} requests"


AUDIT = Audit(
    name="littles_law",
    title="inconsistent rates and times",
    question="Are the requests, their rate and their times consistent?",
    examine=examine,
    about=("serving",),
    blind=blind,
)
