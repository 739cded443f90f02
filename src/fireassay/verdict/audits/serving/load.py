"""Did the load reach a steady state, and without stalls?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fireassay.estimates.format import count, given, percent, reading
from fireassay.frames.record_data import RecordData, by_launch
from fireassay.frames.serving.client_clocks import losses
from fireassay.metrics.metric import Results
from fireassay.stats.models.queueing import TOLERANCE
from fireassay.units import NS_PER_S, SECONDS
from fireassay.verdict.audits.audit import SERVING, Audits
from fireassay.verdict.evidence.affected import by_configuration, in_launches, most
from fireassay.verdict.evidence.sent_requests import begins, length_ns, planned, requests_of, serving_of
from fireassay.verdict.types import Finding

AUDITS = Audits(about=SERVING)


# ---- littles law ----

LONG_ENOUGH: Final = 200.0  # mean times; the edges are then at most about 2/200 of the area, with opposite signs
LITTLE_MIN_REQUESTS: Final = 100  # requests
GREW: Final = 2.0
GREW_BY: Final = 8.0


@dataclass(frozen=True, kw_only=True)
class LittleFlow:
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
        """True if the two sides differ, and the window's edges do not explain it."""
        unexplained = self.residual + self.edges / self.in_flight
        return min(abs(self.residual), abs(unexplained)) > TOLERANCE


@AUDITS.add("littles_law", "Are the requests, their rate and their times consistent?", title="inconsistent rates and times")
def examine_little(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """At most one finding per configuration for the law and one for a growing queue.

    Little's law: mean requests in flight = planned arrivals per second x mean time from due to done. The left side is an integral over the
    requests' rows, the right side takes its rate from the schedule: missing rows or wrong times make them differ by more than 2 %. So do
    requests under way at an edge of the window; the law is tested only if the window spans at least 200 mean times, which in a stable
    system leaves less than about 1 %. A few hung requests leave more: the sides must still differ after correcting for what was under way
    at both edges, within the launch.

    A growing queue: in an open loop, more than twice as many requests (and at least 8 more) in flight in the last quarter of the window as
    in the first. The server cannot keep up, every number depends on the duration of the load, and "the latency at this rate" does not
    exist. Cannot tell: a queue that would start to grow later. Source: Little, Operations Research 9, 1961.
    """
    flows = list(little_fold(measured))
    return tuple(
        f for name in measured.configurations for f in _little_of(measured, name, [flow for flow in flows if flow.configuration == name])
    )


def _little_of(measured: RecordData, name: str, flows: list[LittleFlow]) -> Iterator[Finding]:
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


def little_fold(measured: RecordData) -> Iterator[LittleFlow]:
    """The window of every timed launch with requests, on one clock and without a client lost with its host."""
    parted = sorted({*losses(measured.tables)["launch"].to_list(), *measured.served.apart})
    requests = requests_of(measured, "scheduled_ns", "done_ns").filter((pl.col("phase") != "cold") & ~pl.col("launch").is_in(parted))
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


def _flow(frame: pl.DataFrame, window: tuple[float, float], due: int | None, end: float) -> LittleFlow | None:
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
    return LittleFlow(
        launch=int(frame["launch"][0]),
        configuration=str(frame["configuration"][0]),
        in_flight=area / length,
        arrivals=arrived / length,
        mean_s=mean,
        tested=length >= LONG_ENOUGH * mean and arrived >= LITTLE_MIN_REQUESTS,
        first=_in_flight(begin_s, end_s, window[0], window[0] + quarter),
        last=_in_flight(begin_s, end_s, window[1] - quarter, window[1]),
        edges=float(late - early) / length,
    )


def _in_flight(begin_s: NDArray[np.float64], end_s: NDArray[np.float64], first: float, last: float) -> float:
    return float(np.clip(np.minimum(end_s, last) - np.maximum(begin_s, first), 0.0, None).sum()) / (last - first)


@AUDITS.blind("littles_law")
def blind_little(measured: RecordData, _: Results) -> str | None:
    """Blind with windows too short for the law."""
    flows = list(little_fold(measured))
    if any(flow.tested for flow in flows):
        return None
    return f"no window is long enough to test the law: {LONG_ENOUGH:g} mean latencies and {LITTLE_MIN_REQUESTS} requests"


# ---- stall ----

BIN_NS: Final = 50_000_000
MAX_BINS: Final = 50_000_000  # a month; beyond that, a bitmap takes more memory than the times
MIN_S: Final = 0.5
STALL_TIMES: Final = 6.0
STALL_USUAL: Final = 0.75  # quantile of the requests' own longest silences
STALL_MIN_REQUESTS: Final = 10  # requests


@dataclass(frozen=True, kw_only=True)
class Silence:
    """A time without data."""

    launch: int
    configuration: str
    begin_ns: int
    seconds: float
    usual_s: float


@AUDITS.add("stall", "Was there a time without data from any replica?", title="stalled engine")
def examine_stall(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """One warning per configuration with a stall: the longest, and the number of stalls.

    A stall of the whole engine (garbage collection, a swap, a compilation, a dead router) hits few requests and does not show in medians.
    Every socket read with data falls into a bin of 50 ms; a run of empty bins while a request is under way is a silence. Reported: silences
    of at least 0.5 s that exceed six times the upper quartile of the requests' own longest waits (between sending, chunks and end) in the
    launch: a stall that hits less than a quarter of the load cannot raise that quartile. A warning; timed launches only, since faults stall
    on purpose. Cannot tell: a stall of one of several replicas (`replica_imbalance`), or one shorter than half a second.
    """
    starts = dict(begins(measured).iter_rows())
    by_configuration: dict[str, list[Silence]] = {}
    for silence in silences(measured):
        by_configuration.setdefault(silence.configuration, []).append(silence)
    return tuple(_stall_finding(name, by_configuration[name], starts) for name in measured.configurations if name in by_configuration)


def _stall_finding(name: str, silent: list[Silence], starts: dict[int, int]) -> Finding:
    worst = max(silent, key=lambda silence: silence.seconds)
    into = (worst.begin_ns - starts.get(worst.launch, worst.begin_ns)) / NS_PER_S
    more = f"; {len(silent) - 1} more like it" if len(silent) > 1 else ""
    evidence = (
        f"for {reading(worst.seconds, SECONDS)} nothing came from any replica although requests were under way, {given(into, 3)} s into the load of "
        f"launch {worst.launch}; three in four requests never wait longer than {reading(worst.usual_s, SECONDS)}{more}"
    )
    remedy = "check the server's log and the machine's at that moment; tails and attainment of this launch include the stall"
    return Finding("stalled", "warning", name, evidence, remedy)


def silences(measured: RecordData) -> Iterator[Silence]:
    """Every stall of every timed launch."""
    sent = requests_of(measured, "sent_ns", "done_ns", "chunk_ns", "first_byte_ns").filter(
        pl.col("sent_ns").is_not_null() & (pl.col("phase") != "cold")
    )
    for requests in by_launch(sent):
        if requests.height >= STALL_MIN_REQUESTS:
            yield from _of_launch(requests)


def _of_launch(requests: pl.DataFrame) -> Iterator[Silence]:
    usual = _usual_s(requests)
    least = max(MIN_S, STALL_TIMES * usual)
    end = pl.col("done_ns").fill_null(pl.col("sent_ns"))
    begin, ended = requests["sent_ns"].to_numpy(), requests.select(end).to_series().to_numpy()
    for first, last in _empty(_stall_seen(requests), begin, ended):
        length = (last - first) / NS_PER_S
        if length >= least:
            yield Silence(
                launch=int(requests["launch"][0]),
                configuration=str(requests["configuration"][0]),
                begin_ns=first,
                seconds=length,
                usual_s=usual,
            )


def _usual_s(requests: pl.DataFrame) -> float:
    """Upper quartile of the requests' own longest silences, in seconds."""
    usual = pl.Series(_longest(requests)).quantile(STALL_USUAL, "lower")
    return float(usual) / NS_PER_S if isinstance(usual, int | float) else 0.0


def _longest(requests: pl.DataFrame) -> NDArray[np.int64]:
    """Each request's longest wait between sending, chunks and end, in nanoseconds."""
    lengths = requests["chunk_ns"].list.len().cast(pl.Int64).to_numpy()
    longest = (requests["done_ns"] - requests["sent_ns"]).fill_null(0).to_numpy().copy()
    some = np.flatnonzero(lengths)
    if len(some):
        reads = requests["chunk_ns"].explode().drop_nulls().to_numpy()
        starts = np.cumsum(lengths[some]) - lengths[some]
        waits = np.diff(reads, prepend=0)
        waits[starts] = reads[starts]
        last = longest[some] - reads[starts + lengths[some] - 1]
        longest[some] = np.maximum(np.maximum.reduceat(waits, starts), last)
    return longest


def _stall_seen(requests: pl.DataFrame) -> NDArray[np.int64]:
    """Bins with data, ascending."""
    lengths = requests["chunk_ns"].list.len().cast(pl.Int64).to_numpy()
    chunks = requests["chunk_ns"].explode().drop_nulls().to_numpy() + np.repeat(requests["sent_ns"].to_numpy(), lengths)
    times = (chunks, requests["first_byte_ns"].drop_nulls().to_numpy(), requests["done_ns"].drop_nulls().to_numpy())
    bins = [stamps // BIN_NS for stamps in times if len(stamps)]
    if not bins:
        return np.zeros(0, dtype=np.int64)
    first, last = min(int(stamps.min()) for stamps in bins), max(int(stamps.max()) for stamps in bins)
    if last - first > MAX_BINS:
        return np.unique(np.concatenate(bins))
    there = np.zeros(last - first + 1, dtype=np.bool_)
    for stamps in bins:
        there[stamps - first] = True
    return np.flatnonzero(there) + first


def _empty(bins: NDArray[np.int64], begin: NDArray[np.int64], end: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """(from, to) in nanoseconds of runs of empty bins with a request under way."""
    order = np.argsort(begin)
    begin, end = begin[order], end[order]
    for index in np.flatnonzero(np.diff(bins) * BIN_NS > MIN_S * NS_PER_S):
        first, last = int(bins[index] + 1) * BIN_NS, int(bins[index + 1]) * BIN_NS
        known = int(np.searchsorted(begin, last, side="left"))  # sent before data resumed
        waiting = begin[:known][end[:known] >= last]  # and still under way then; an end counts as data
        if len(waiting):
            yield max(first, int(waiting.min())), last


@AUDITS.blind("stall")
def blind_stall(measured: RecordData, _: Results) -> str | None:
    """Blind with too few requests."""
    sent = requests_of(measured, "sent_ns").filter(pl.col("sent_ns").is_not_null() & (pl.col("phase") != "cold"))
    most = sent.group_by("launch").len()["len"].max()
    return None if isinstance(most, int) and most >= STALL_MIN_REQUESTS else f"no launch sent {STALL_MIN_REQUESTS} requests"
