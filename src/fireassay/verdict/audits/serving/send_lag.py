"""Was the server measured, or the client?

The send lag is the time from when a request was due (in a closed loop: its stream was free and its pause over) to its first byte written,
excluding the set-up of a new connection, which is the server's and the network's. INVALID in at least half of a configuration's launches, a
warning in fewer:

    open loop:   p99 of the lag > max(serving.client.most_lag x median latency, serving.client.free_lag_s)
                 (sent / due) x (span of due times / span of sending times) < serving.client.least_achieved
    closed loop: mean number in flight / requested concurrency < serving.client.least_achieved

In a closed loop the lag is the client's own think time: it reduces the load but lengthens no latency, since latencies start at sending. A
request is in flight from its sending (connection set-up included) to its end, within the measured window and until the first stream runs
out of requests. MLPerf queries of several samples are judged by their streams' waiting time, since finished samples wait for the rest of
their query by design. Requests refused by the server count as sent. A connection limit (serving.client.connections) that is too small shows
here too.

Cannot tell: client delays after the first byte was written; `assay doctor client` measures those.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import polars as pl

from fireassay.estimates.format import count, percent, reading
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.units import NS_PER_S, SECONDS
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.affected import by_configuration, in_launches, most
from fireassay.verdict.evidence.sent_requests import main, rows, serving_of
from fireassay.verdict.types import Finding

QUANTILE: Final = 0.99
HELD: Final = ("unsent", "lost", "cancelled")  # without a sending time: the client's fault
COLUMNS: Final = ("scheduled_ns", "sent_ns", "connect_ns", "last_token_ns", "done_ns", "status", "stream")
CLOSED: Final = ("closed", "single_stream")
REMEDY: Final = (
    "give the client more processes (serving.client.processes) or more connections, or reduce the load; "
    "`assay doctor client` measures the capacity of this machine's client"
)


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """At most one finding per configuration for the lag and one for unsent load."""
    folded = fold(measured)
    closed = serving_of(measured).arrivals.process in CLOSED
    return tuple(
        f
        for name, launches in by_configuration(measured, folded)
        for f in (*(() if closed else _late(measured, name, launches)), *_short(measured, name, launches, closed=closed))
    )


def fold(measured: RecordData) -> pl.DataFrame:
    """One row per timed launch: launch, configuration, lag_p99_s, latency_s (median), achieved (a share); null if unknown."""
    sent = main(measured, *COLUMNS).with_columns(
        lag=(pl.col("sent_ns") - pl.col("scheduled_ns") - pl.col("connect_ns").fill_null(0)).clip(lower_bound=0),
        latency=pl.col("last_token_ns").fill_null(pl.col("done_ns")) - pl.col("scheduled_ns"),
        held=pl.col("sent_ns").is_null() & pl.col("status").is_in(HELD),
    )
    held = _in_flight(measured)
    # Rounded down: with few requests the largest lag alone is no percentile.
    folded = (
        sent.group_by("launch", "configuration")
        .agg(
            (pl.col("lag").quantile(QUANTILE, "lower") / NS_PER_S).alias("lag_p99_s"),
            (pl.col("latency").filter(pl.col("status") == "ok").median() / NS_PER_S).alias("latency_s"),
            pl.when(pl.col("stream").is_not_null().all()).then(_closed()).otherwise(_open()).alias("achieved"),
        )
        .sort("launch")
    )
    if held is None:
        return folded
    return folded.drop("achieved").join(held, on="launch", how="left", maintain_order="left")


def _in_flight(measured: RecordData) -> pl.DataFrame | None:
    """(launch, achieved): the share of the requested concurrency in flight; None unless the load is a closed loop of streams."""
    requests = rows(measured, "stream", "sent_ns", "connect_ns", "done_ns").filter(pl.col("phase") != "cold")
    if serving_of(measured).arrivals.process not in CLOSED or requests.height == 0 or requests["stream"].null_count():
        return None
    last = requests.group_by("launch", "stream").agg(pl.col("done_ns").max())
    dry = last.group_by("launch").agg(pl.col("done_ns").min().alias("_dry"), pl.len().alias("_streams"))
    bounds = measured.served.windows.select("launch", "begin_ns", "end_ns").join(dry, on="launch")
    bounds = bounds.with_columns(_until=pl.min_horizontal("end_ns", "_dry")).filter(pl.col("_until") > pl.col("begin_ns"))
    sent = pl.col("sent_ns") - pl.col("connect_ns").fill_null(0)
    inside = pl.min_horizontal("done_ns", "_until") - pl.max_horizontal(sent, "begin_ns")
    whole = (pl.col("_until") - pl.col("begin_ns")).first() * pl.col("_streams").first()
    spans = requests.drop_nulls(["sent_ns", "done_ns"]).join(bounds, on="launch")
    achieved: pl.DataFrame = spans.group_by("launch").agg((inside.clip(lower_bound=0).sum() / whole).alias("achieved"))
    return achieved


def _open() -> pl.Expr:
    """Achieved / offered rate. Slightly late sending at the end does not lower the rate: the spans account for it."""
    share = (~pl.col("held")).mean()
    was_sent = pl.col("sent_ns") - pl.col("connect_ns").fill_null(0)
    due = (pl.col("scheduled_ns").max() - pl.col("scheduled_ns").min()).cast(pl.Float64)
    span = (was_sent.max() - pl.col("scheduled_ns").min()).cast(pl.Float64)
    return share * pl.when(span > due).then(due / span).otherwise(1.0).fill_null(1.0)


def _closed() -> pl.Expr:
    """The share of its time in which a stream had a request under way; unsent requests count as waiting."""
    known = pl.col("done_ns").is_not_null() & pl.col("lag").is_not_null()
    whole = (pl.col("done_ns") - pl.col("scheduled_ns")).filter(known).sum().cast(pl.Float64)
    waited = pl.col("lag").filter(known).sum().cast(pl.Float64)
    return (~pl.col("held")).mean() * pl.when(whole > 0).then(1.0 - waited / whole).otherwise(1.0)


def _late(measured: RecordData, name: str, launches: pl.DataFrame) -> Iterator[Finding]:
    client = serving_of(measured).client
    limit = client.most_lag
    known = launches.filter(pl.col("lag_p99_s").is_not_null() & pl.col("latency_s").is_not_null())
    late = known.filter(pl.col("lag_p99_s") > pl.max_horizontal(limit * pl.col("latency_s"), pl.lit(client.free_lag_s)))
    if late.height == 0:
        return
    worst = late.sort(pl.col("lag_p99_s") / pl.col("latency_s")).row(-1, named=True)
    share = worst["lag_p99_s"] / worst["latency_s"] if worst["latency_s"] else float("inf")
    evidence = (
        f"requests were sent late: p99 of the lag {reading(worst['lag_p99_s'], SECONDS)}, which is {_share(share, limit)} of the median latency of "
        f"{reading(worst['latency_s'], SECONDS)}; at most {percent(limit, 12)} are allowed; {_which(late, known)}"
    )
    yield Finding("client_bound", "invalid" if most(late.height, known.height) else "warning", name, evidence, REMEDY)


def _short(measured: RecordData, name: str, launches: pl.DataFrame, *, closed: bool) -> Iterator[Finding]:
    limit = serving_of(measured).client.least_achieved
    known = launches.filter(pl.col("achieved").is_not_null())
    short = known.filter(pl.col("achieved") < limit)
    if short.height == 0:
        return
    worst = float(short["achieved"].min())  # type: ignore[arg-type]
    what = "requested concurrency was in flight" if closed else "requested load was sent"
    evidence = f"only {percent(worst, 3, beside=(limit,))} of the {what}; at least {percent(limit, 12)} are needed; {_which(short, known)}"
    yield Finding("load_not_achieved", "invalid" if most(short.height, known.height) else "warning", name, evidence, REMEDY)


def _share(share: float, limit: float) -> str:
    return percent(share, beside=(limit,)) if share < 100.0 else "many times"


def _which(affected: pl.DataFrame, known: pl.DataFrame) -> str:
    return f"in {affected.height} of {count(known.height, 'launches')} ({in_launches(affected['launch'])})"


def blind(measured: RecordData, _: Results) -> str | None:
    """Blind without sending times."""
    seen = fold(measured)
    return None if seen.height and seen["lag_p99_s"].is_not_null().any() else "no request of a timed launch has a sending time"


AUDIT = Audit(
    name="send_lag",
    title="client-bound load",
    question="Was the server measured, or the client?",
    examine=examine,
    about=("serving",),
    blind=blind,
)
