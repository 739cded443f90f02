"""Was there a time without data from any replica while requests were under way?

A stall of the whole engine (garbage collection, a swap, a compilation, a dead router) hits few requests and does not show in medians. Every
socket read with data falls into a bin of 50 ms; a run of empty bins while a request is under way is a silence. Reported: silences of at
least 0.5 s that exceed six times the upper quartile of the requests' own longest waits (between sending, chunks and end) in the launch: a
stall that hits less than a quarter of the load cannot raise that quartile. A warning; timed launches only, since faults stall on purpose.
Cannot tell: a stall of one of several replicas (`replica_imbalance`), or one shorter than half a second.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fireassay.estimates.format import given, reading
from fireassay.frames.record_data import RecordData, by_launch
from fireassay.metrics.metric import Results
from fireassay.units import NS_PER_S, SECONDS
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.sent_requests import begins, rows
from fireassay.verdict.types import Finding

BIN_NS: Final = 50_000_000
MOST_BINS: Final = 50_000_000  # a month; beyond that, a bitmap takes more memory than the times
SHORTEST_S: Final = 0.5
TIMES: Final = 6.0
USUAL: Final = 0.75  # quantile of the requests' own longest silences
FEWEST: Final = 10  # requests


@dataclass(frozen=True, kw_only=True)
class Silence:
    """A time without data."""

    launch: int
    configuration: str
    begin_ns: int
    seconds: float
    usual_s: float


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """One warning per configuration with a stall: the longest, and the number of stalls."""
    starts = dict(begins(measured).iter_rows())
    by_configuration: dict[str, list[Silence]] = {}
    for silence in silences(measured):
        by_configuration.setdefault(silence.configuration, []).append(silence)
    return tuple(_finding(name, by_configuration[name], starts) for name in measured.configurations if name in by_configuration)


def _finding(name: str, silent: list[Silence], starts: dict[int, int]) -> Finding:
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
    sent = rows(measured, "sent_ns", "done_ns", "chunk_ns", "first_byte_ns").filter(
        pl.col("sent_ns").is_not_null() & (pl.col("phase") != "cold")
    )
    for requests in by_launch(sent):
        if requests.height >= FEWEST:
            yield from _of_launch(requests)


def _of_launch(requests: pl.DataFrame) -> Iterator[Silence]:
    usual = _usual_s(requests)
    least = max(SHORTEST_S, TIMES * usual)
    end = pl.col("done_ns").fill_null(pl.col("sent_ns"))
    begin, ended = requests["sent_ns"].to_numpy(), requests.select(end).to_series().to_numpy()
    for first, last in _empty(_seen(requests), begin, ended):
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
    usual = pl.Series(_longest(requests)).quantile(USUAL, "lower")
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


def _seen(requests: pl.DataFrame) -> NDArray[np.int64]:
    """Bins with data, ascending."""
    lengths = requests["chunk_ns"].list.len().cast(pl.Int64).to_numpy()
    chunks = requests["chunk_ns"].explode().drop_nulls().to_numpy() + np.repeat(requests["sent_ns"].to_numpy(), lengths)
    times = (chunks, requests["first_byte_ns"].drop_nulls().to_numpy(), requests["done_ns"].drop_nulls().to_numpy())
    bins = [stamps // BIN_NS for stamps in times if len(stamps)]
    if not bins:
        return np.zeros(0, dtype=np.int64)
    first, last = min(int(stamps.min()) for stamps in bins), max(int(stamps.max()) for stamps in bins)
    if last - first > MOST_BINS:
        return np.unique(np.concatenate(bins))
    there = np.zeros(last - first + 1, dtype=np.bool_)
    for stamps in bins:
        there[stamps - first] = True
    return np.flatnonzero(there) + first


def _empty(bins: NDArray[np.int64], begin: NDArray[np.int64], end: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """(from, to) in nanoseconds of runs of empty bins with a request under way."""
    order = np.argsort(begin)
    begin, end = begin[order], end[order]
    for index in np.flatnonzero(np.diff(bins) * BIN_NS > SHORTEST_S * NS_PER_S):
        first, last = int(bins[index] + 1) * BIN_NS, int(bins[index + 1]) * BIN_NS
        known = int(np.searchsorted(begin, last, side="left"))  # sent before data resumed
        waiting = begin[:known][end[:known] >= last]  # and still under way then; an end counts as data
        if len(waiting):
            yield max(first, int(waiting.min())), last


def blind(measured: RecordData, _: Results) -> str | None:
    """Blind with too few requests."""
    sent = rows(measured, "sent_ns").filter(pl.col("sent_ns").is_not_null() & (pl.col("phase") != "cold"))
    most = sent.group_by("launch").len()["len"].max()
    return None if isinstance(most, int) and most >= FEWEST else f"no launch sent {FEWEST} requests"


AUDIT = Audit(
    name="stall",
    title="stalled engine",
    question="Was there a time without data from any replica?",
    examine=examine,
    about=("serving",),
    blind=blind,
)
