"""Did the client send and stamp as planned?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import polars as pl

from fireassay.estimates.format import count, given, percent, reading
from fireassay.frames.noise import disturbances
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.printable import one_line
from fireassay.spec.plan import targets_of
from fireassay.units import NS_PER_S, SECONDS
from fireassay.verdict.audits.audit import SERVING, Audits
from fireassay.verdict.evidence.affected import by_configuration, in_launches, most
from fireassay.verdict.evidence.sent_requests import main, number, planned, requests_of, serving_of
from fireassay.verdict.types import Finding, Severity

AUDITS = Audits(about=SERVING)


def is_raw(measured: RecordData) -> bool:
    """True if plain numbers were asked for, of which nothing is judged: what spoils a verdict is then a warning beside them."""
    return measured.experiment.launches.quick and not serving_of(measured).objectives.any


def _gravity(measured: RecordData, *, voids: bool) -> Severity:
    return "invalid" if voids and not is_raw(measured) else "warning"


# ---- client ceiling ----

CEILING_HALF: Final = 0.5
CEILINGS: Final = {"requests": "requests_per_s", "chunks": "chunks_per_s"}  # counted unit -> key of the calibration
CEILING_MIN_REQUESTS: Final = 2  # requests


@AUDITS.add("client_ceiling", "Was the load within this client's capacity on this machine?", title="load beyond the client's capacity")
def examine_ceiling(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """A finding per configuration with a load near the ceiling; a note without a ceiling.

    `assay doctor client` measures the requests and chunks per second that one client process sustains against a server that answers at
    once; every record carries the result (`environment.before.doctor.client`). A load above that ceiling was not sustained: INVALID. Above
    half of it the client's own queueing delay grows: a warning. Without a calibration it is a note, and only `send_lag` protects the
    result. Cannot tell: the client cost of other request sizes or encrypted connections.
    """
    known = ceilings(measured)
    if not known:
        evidence = "this client's capacity on this machine is unknown: it was never calibrated"
        remedy = "run `assay doctor client` once; every later record carries the result"
        return (Finding("client_not_calibrated", "note", None, evidence, remedy),)
    return (
        *(f for name, rows in by_configuration(measured, ceiling_asked(measured)) for f in _ceiling_near(measured, name, rows, known)),
        *_stale(measured),
    )


def _stale(measured: RecordData) -> Iterator[Finding]:
    stale = calibration(measured).get("stale")
    if isinstance(stale, str):
        evidence = f"what this client can do on this machine is {one_line(stale)}"
        yield Finding("client_calibration_stale", "note", None, evidence, "run `assay doctor client` again")


def calibration(measured: RecordData) -> Mapping[str, Any]:
    """The result of `assay doctor client` on the machine; empty if it never ran."""
    doctor = measured.before.get("doctor")
    client = doctor.get("client") if isinstance(doctor, Mapping) else None
    return client if isinstance(client, Mapping) else {}


def ceilings(measured: RecordData) -> dict[str, float]:
    """Requests and chunks -> maximum per second of one client process."""
    measured_client = calibration(measured)
    ceiling = measured_client.get("ceiling")
    among: Mapping[str, Any] = ceiling if isinstance(ceiling, Mapping) else measured_client
    values = {what: among.get(key) for what, key in CEILINGS.items()}
    return {what: float(value) for what, value in values.items() if isinstance(value, int | float) and value > 0}


def ceiling_asked(measured: RecordData) -> pl.DataFrame:
    """(launch, configuration, requests, chunks): rates per second in the measured part of each timed launch."""
    rows = main(measured, "scheduled_ns", "chunk_ns")
    span, gaps = (pl.col("scheduled_ns").max() - pl.col("scheduled_ns").min()) / NS_PER_S, pl.len() - 1  # n stamps have n - 1 gaps
    folded = (
        rows.with_columns(pl.col("chunk_ns").list.len().alias("chunks"))
        .group_by("launch", "configuration")
        .agg(
            (gaps / span).alias("requests"),
            (pl.col("chunks").mean() * gaps / span).alias("chunks"),
            pl.len().alias("n"),
            span.alias("span"),
        )
    )
    return folded.filter((pl.col("n") >= CEILING_MIN_REQUESTS) & (pl.col("span") > 0.0)).sort("launch")


def _ceiling_near(measured: RecordData, name: str, rows: pl.DataFrame, known: Mapping[str, float]) -> Iterator[Finding]:
    processes = serving_of(measured).client.processes
    for what, ceiling in known.items():
        rate = number(rows[what])
        most = ceiling * processes
        if rate is None or rate <= CEILING_HALF * most:
            continue
        above = rate > most
        evidence = (
            f"{given(rate, 3)} {what} per second are {percent(rate / most)} of what {count(processes, 'client processes') if processes > 1 else 'the client'} "
            f"can carry here ({given(most, 3)}, by assay doctor client)"
        )
        remedy = "give the client more processes (--processes N), or use a larger machine for it"
        yield Finding("client_ceiling", _gravity(measured, voids=above), name, evidence, remedy)


@AUDITS.blind("client_ceiling")
def blind_ceiling(measured: RecordData, _: Results) -> str | None:
    """Blind without a calibration."""
    return None if ceilings(measured) else "the client was never calibrated (assay doctor client)"


# ---- send lag ----

SEND_LAG_QUANTILE: Final = 0.99
SEND_LAG_HELD: Final = ("unsent", "lost", "cancelled")  # without a sending time: the client's fault
SEND_LAG_COLUMNS: Final = ("scheduled_ns", "sent_ns", "connect_ns", "last_token_ns", "done_ns", "status", "stream")
SEND_LAG_CLOSED: Final = ("closed", "single_stream")
SEND_LAG_REMEDY: Final = (
    "give the client more processes (--processes N) or more connections, or reduce the load; "
    "`assay doctor client` measures the capacity of this machine's client"
)


@AUDITS.add("send_lag", "Was the server measured, or the client?", title="client-bound load")
def examine_send_lag(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """At most one finding per configuration for the lag and one for unsent load.

    The send lag is the time from when a request was due (in a closed loop: its stream was free and its pause over) to its first byte
    written, excluding the set-up of a new connection, which is the server's and the network's. INVALID in at least half of a
    configuration's launches, a warning in fewer:

        open loop:   p99 of the lag > max(serving.client.most_lag x median latency, serving.client.free_lag_s)
                     (sent / due) x (span of due times / span of sending times) < serving.client.least_achieved
        closed loop: mean number in flight or in a planned pause / requested concurrency < serving.client.least_achieved

    In a closed loop the lag is the client's own think time: it reduces the load but lengthens no latency, since latencies start at sending.
    A request is in flight from its sending (connection set-up included) to its end, within the measured window and until the first stream
    runs out of requests. Planned pauses (think time, tools) are the load, not missing from it: by Little's law the share is that of the
    requests which were sent. MLPerf queries of several samples are judged by their streams' waiting time, since finished samples wait for
    the rest of their query by design. Requests refused by the server count as sent. A connection limit (serving.client.connections) that
    is too small shows here too.

    Cannot tell: client delays after the first byte was written; `assay doctor client` measures those.
    """
    folded = send_lag_fold(measured)
    closed = serving_of(measured).arrivals.process in SEND_LAG_CLOSED
    return tuple(
        f
        for name, launches in by_configuration(measured, folded)
        for f in (*(() if closed else _send_lag_late(measured, name, launches)), *_send_lag_short(measured, name, launches, closed=closed))
    )


def send_lag_fold(measured: RecordData) -> pl.DataFrame:
    """One row per timed launch: launch, configuration, lag_p99_s, latency_s (median), achieved (a share); null if unknown."""
    sent = main(measured, *SEND_LAG_COLUMNS).with_columns(
        lag=(pl.col("sent_ns") - pl.col("scheduled_ns") - pl.col("connect_ns").fill_null(0)).clip(lower_bound=0),
        latency=pl.col("last_token_ns").fill_null(pl.col("done_ns")) - pl.col("scheduled_ns"),
        held=pl.col("sent_ns").is_null() & pl.col("status").is_in(SEND_LAG_HELD),
    )
    held = _in_flight(measured)
    # Rounded down: with few requests the largest lag alone is no percentile.
    folded = (
        sent.group_by("launch", "configuration")
        .agg(
            (pl.col("lag").quantile(SEND_LAG_QUANTILE, "lower") / NS_PER_S).alias("lag_p99_s"),
            (pl.col("latency").filter(pl.col("status") == "ok").median() / NS_PER_S).alias("latency_s"),
            pl.when(pl.col("stream").is_not_null().all()).then(_closed()).otherwise(_open()).alias("achieved"),
        )
        .sort("launch")
    )
    if held is None:
        return folded
    return folded.drop("achieved").join(held, on="launch", how="left", maintain_order="left")


def _in_flight(measured: RecordData) -> pl.DataFrame | None:
    """(launch, achieved, pauses): the share of its time that a stream waits for an answer, or pauses on purpose; None unless the load is a
    closed loop of streams."""
    requests = requests_of(measured, "stream", "scheduled_ns", "sent_ns", "connect_ns", "done_ns").filter(pl.col("phase") != "cold")
    if serving_of(measured).arrivals.process not in SEND_LAG_CLOSED or requests.height == 0 or requests["stream"].null_count():
        return None
    last = requests.group_by("launch", "stream").agg(pl.col("done_ns").max())
    dry = last.group_by("launch").agg(pl.col("done_ns").min().alias("_dry"), pl.len().alias("_streams"))
    bounds = measured.served.windows.select("launch", "begin_ns", "end_ns").join(dry, on="launch")
    bounds = bounds.with_columns(_until=pl.min_horizontal("end_ns", "_dry")).filter(pl.col("_until") > pl.col("begin_ns"))
    sent = pl.col("sent_ns") - pl.col("connect_ns").fill_null(0)
    inside = pl.min_horizontal("done_ns", "_until") - pl.max_horizontal(sent, "begin_ns")
    whole = (pl.col("_until") - pl.col("begin_ns")).first() * pl.col("_streams").first()
    rest = pl.col("scheduled_ns") - pl.col("pause_ns").fill_null(0)
    paused = pl.min_horizontal("scheduled_ns", "_until") - pl.max_horizontal(rest, "begin_ns")
    pauses = planned(measured, "pause_ns", "pause_kind").filter(pl.col("pause_kind") != "none").drop("pause_kind")
    spans = requests.join(pauses, on=["launch", "request"], how="left").join(bounds, on="launch")
    flown, rested = (span.clip(lower_bound=0).sum() for span in (inside, paused))
    achieved: pl.DataFrame = spans.group_by("launch").agg(((flown + rested) / whole).alias("achieved"), (rested > 0).alias("pauses"))
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


def _send_lag_late(measured: RecordData, name: str, launches: pl.DataFrame) -> Iterator[Finding]:
    client = serving_of(measured).client
    limit = client.most_lag
    known = launches.filter(pl.col("lag_p99_s").is_not_null() & pl.col("latency_s").is_not_null())
    late = known.filter(pl.col("lag_p99_s") > pl.max_horizontal(limit * pl.col("latency_s"), pl.lit(client.free_lag_s)))
    if late.height == 0:
        return
    worst = late.sort(pl.col("lag_p99_s") / pl.col("latency_s")).row(-1, named=True)
    share = worst["lag_p99_s"] / worst["latency_s"] if worst["latency_s"] else float("inf")
    evidence = (
        f"requests were sent late: p99 of the lag {reading(worst['lag_p99_s'], SECONDS)}, which is {_send_lag_share(share, limit)} of the median latency of "
        f"{reading(worst['latency_s'], SECONDS)}; at most {percent(limit, 12)} are allowed; {_send_lag_which(late, known)}"
    )
    yield Finding("client_bound", _gravity(measured, voids=most(late.height, known.height)), name, evidence, SEND_LAG_REMEDY)


def _send_lag_short(measured: RecordData, name: str, launches: pl.DataFrame, *, closed: bool) -> Iterator[Finding]:
    limit = serving_of(measured).client.least_achieved
    known = launches.filter(pl.col("achieved").is_not_null())
    short = known.filter(pl.col("achieved") < limit)
    if short.height == 0:
        return
    worst = float(short["achieved"].min())  # type: ignore[arg-type]
    what = "requested concurrency was in flight" if closed else "requested load was sent"
    what += " or in a pause on purpose" if closed and "pauses" in known.columns and known["pauses"].any() else ""
    evidence = f"only {percent(worst, 3, beside=(limit,))} of the {what}; at least {percent(limit, 12)} are needed; {_send_lag_which(short, known)}"
    yield Finding("load_not_achieved", _gravity(measured, voids=most(short.height, known.height)), name, evidence, SEND_LAG_REMEDY)


def _send_lag_share(share: float, limit: float) -> str:
    return percent(share, beside=(limit,)) if share < 100.0 else "many times"


def _send_lag_which(affected: pl.DataFrame, known: pl.DataFrame) -> str:
    return f"in {affected.height} of {count(known.height, 'launches')} ({in_launches(affected['launch'])})"


@AUDITS.blind("send_lag")
def blind_send_lag(measured: RecordData, _: Results) -> str | None:
    """Blind without sending times."""
    seen = send_lag_fold(measured)
    return None if seen.height and seen["lag_p99_s"].is_not_null().any() else "no request of a timed launch has a sending time"


# ---- transport ----

TRANSPORT_REMEDY: Final = 'set serving.client.transport = "lean" if neither a proxy nor HTTP/2 is needed'


@AUDITS.add("transport", "Which path did the requests take?", title="slower client path")
def examine_transport(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """A note on the library's path; a warning for mixed paths.

    assay's own protocol uses the kernel's receive timestamp (kernel; Linux, without TLS) or stamps the socket read before parsing (lean);
    an HTTP library (for proxies and HTTP/2) stamps later and costs the client more. Times from different paths differ by that cost, so
    mixed paths in a configuration are a warning, and the slower path is a note. Imported results do not state their path. Cannot tell: the
    added delay; `stamp_uncertainty` reports its known bounds.
    """
    sent = main(measured, "sent_ns", "transport").filter(pl.col("sent_ns").is_not_null())
    paths = dict(sent.group_by("transport").len().sort("transport").iter_rows())
    if len(paths) > 1:
        shares = ", ".join(f"{percent(n / sent.height)} {path or 'unknown'}" for path, n in paths.items())
        mixed = f"requests took several paths ({shares}): their times differ by the client's cost of the path"
        return (Finding("transports_mixed", "warning", None, mixed, TRANSPORT_REMEDY),)
    if "library" in paths:
        slow = "all requests went through an HTTP library, which stamps later than the socket read and sustains less load"
        return (Finding("library_transport", "note", None, slow, TRANSPORT_REMEDY),)
    return ()


# ---- stamp uncertainty ----

STAMPS_QUANTILE: Final = 0.99
TITLES: Final = {"ttft": "TTFT", "tpot": "TPOT", "e2e": "E2E", "ttft_visible": "visible TTFT", "itl": "ITL"}
STAMPS_REMEDY: Final = (
    "keep the client responsive: fewer streams, more client processes (--processes N) or a quieter machine{more}; "
    "`assay doctor client` measures the capacity of this machine's client"
)
# Where other programs took the processors, fewer streams would measure less and help nothing.
BUSY_REMEDY: Final = (
    "end the other programs, or measure when the machine is quiet: {why}; `assay doctor client` says what a quiet one can do"
)
NOT_COMPILED: Final = ", and the compiled client, which did not send these requests (it needs a C compiler at installation)"
UNKNOWN_REMEDY: Final = 'set serving.client.transport = "auto", without a proxy or HTTP/2'
NO_SOCKET: Final = ("process", "foreign")  # an in-process model, another tool's log
NO_SOCKET_REMEDY: Final = (
    "serve the model and load that server with assay: uncertainty is known only for times taken at assay's own sockets"
)


@AUDITS.add("stamp_uncertainty", "Are token arrival times known, or only upper bounds?", title="uncertain token times")
def examine_stamps(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """At most one finding per configuration and latency, and one note on unknown uncertainty.

    A chunk's timestamp may be late: several packets in one read share the last one's, and a process that was asleep, stopped or busy reads
    late. Each timestamp therefore carries how much earlier the chunk may have arrived (`fireassay.frames.serving.requests`).
    INVALID in at least half of a configuration's launches, a warning in fewer:

        p99 of a latency's uncertainty > max(serving.client.most_uncertainty x its median, serving.client.free_uncertainty_s)

    TTFT, TPOT and E2E are always checked; visible TTFT and ITL if an objective names them. Unknown uncertainty (an HTTP library, an
    in-process model, an import) is a note: it was not measured and may be large.

    Cannot tell: the actual error, only its bound; delays before the kernel's timestamp (interrupt coalescing, a descheduled virtual
    machine).
    """
    latencies = stamps_fold(measured)
    return (*_too_unsure(measured, latencies), *_unknown(measured, latencies))


def stamps_fold(measured: RecordData) -> pl.DataFrame:
    """(launch, configuration, latency, unsure_s (p99), median_s) per timed launch and checked latency; null if unknown."""
    objectives = serving_of(measured).objectives
    names = ["ttft", "tpot", "e2e", *(["ttft_visible"] if objectives.ttft_visible_s is not None else [])]
    rows = measured.counted_requests.filter("ok")
    parts = [_of_requests(rows, name) for name in names]
    if objectives.itl_s is not None:
        parts.append(_of_gaps(measured, rows))
    return pl.concat(parts).sort("launch", maintain_order=True)


def _of_requests(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    """Requests that have the latency. Rounded down: with few requests the largest value alone is no percentile."""
    known = rows.filter(pl.col(f"{name}_s").is_not_null())
    return known.group_by("launch", "configuration", maintain_order=True).agg(
        pl.lit(name).alias("latency"),
        pl.col(f"{name}_uncertainty_s").quantile(STAMPS_QUANTILE, "lower").alias("unsure_s"),
        pl.col(f"{name}_s").median().alias("median_s"),
    )


def _of_gaps(measured: RecordData, rows: pl.DataFrame) -> pl.DataFrame:
    latencies = []
    for launch, configuration in rows.select("launch", "configuration").unique(maintain_order=True).iter_rows():
        gaps, unsure = measured.served.gaps[launch], measured.served.gap_uncertainty[launch]
        known = unsure[~np.isnan(unsure)]
        if len(gaps):
            worst = float(np.quantile(known, STAMPS_QUANTILE, method="lower")) if len(known) else None
            latencies.append((launch, configuration, "itl", worst, float(np.median(gaps))))
    schema = {"launch": pl.Int32, "configuration": pl.String, "latency": pl.String, "unsure_s": pl.Float64, "median_s": pl.Float64}
    return pl.DataFrame(latencies, schema=schema, orient="row")


def _too_unsure(measured: RecordData, latencies: pl.DataFrame) -> Iterator[Finding]:
    client = serving_of(measured).client
    allowed = pl.max_horizontal(pl.col("median_s") * client.most_uncertainty, pl.lit(client.free_uncertainty_s))
    judged = latencies.filter(pl.col("unsure_s").is_not_null()).with_columns(allowed_s=allowed)
    for name, rows in by_configuration(measured, judged):
        for latency, title in TITLES.items():
            known = rows.filter(pl.col("latency") == latency)
            affected = known.filter(pl.col("unsure_s") > pl.col("allowed_s"))
            if affected.height:
                remedy = _stamps_remedy(measured, affected["launch"].to_list())
                yield _stamps_finding(name, title, affected, known, client.most_uncertainty, remedy, raw=is_raw(measured))


def _stamps_finding(name: str, title: str, affected: pl.DataFrame, known: pl.DataFrame, share: float, remedy: str, *, raw: bool) -> Finding:
    worst = affected.sort(pl.col("unsure_s") / pl.col("allowed_s")).row(-1, named=True)
    if raw:
        evidence = (
            f"{title} known to {reading(worst['unsure_s'], SECONDS, way='up')} only, at a median of {reading(worst['median_s'], SECONDS)}"
        )
        return Finding("times_uncertain", "warning", name, evidence, remedy)
    evidence = (
        f"{title} is too uncertain: p99 of its uncertainty {reading(worst['unsure_s'], SECONDS)}, at a median of "
        f"{reading(worst['median_s'], SECONDS)}; at most {reading(worst['allowed_s'], SECONDS)} ({percent(share, 12)}, or the fixed "
        f"allowance) is admissible; in {affected.height} of {count(known.height, 'launches')} ({in_launches(affected['launch'])})"
    )
    return Finding("times_uncertain", "invalid" if most(affected.height, known.height) else "warning", name, evidence, remedy)


def _stamps_remedy(measured: RecordData, launches: Sequence[int]) -> str:
    """Names other programs where they disturbed one of these launches, the compiled client only where it could have sent these requests and did not."""
    disturbed = disturbances(measured)
    busy = next((disturbed[launch]["foreign_load"] for launch in launches if "foreign_load" in disturbed.get(launch, {})), "")
    if busy:
        return BUSY_REMEDY.format(why=busy)
    paths = set(measured.table("requests")["transport"].unique())
    could = bool(paths & {"kernel", "lean"}) and not any(
        url.startswith("https:") for target in targets_of(serving_of(measured)) for url in target.urls
    )
    return STAMPS_REMEDY.format(more=NOT_COMPILED if could and "compiled" not in paths else "")


def _unknown(measured: RecordData, latencies: pl.DataFrame) -> Iterator[Finding]:
    unknown = latencies.filter(pl.col("unsure_s").is_null())
    if unknown.height:
        launches = unknown["launch"].unique()
        words = f"the uncertainty of the times of {in_launches(launches)} is unknown: not measured, and possibly large"
        ways = measured.table("requests").filter(pl.col("launch").is_in(launches.to_list()))["transport"].unique()
        remedy = NO_SOCKET_REMEDY if ways.is_in(NO_SOCKET).any() else UNKNOWN_REMEDY
        yield Finding("uncertainty_unknown", "note", None, words, remedy)


@AUDITS.blind("stamp_uncertainty")
def blind_stamps(measured: RecordData, _: Results) -> str | None:
    """Blind without any timestamp uncertainty."""
    latencies = stamps_fold(measured)
    return None if latencies["unsure_s"].is_not_null().any() else "the uncertainty of the answers' times is unknown"
