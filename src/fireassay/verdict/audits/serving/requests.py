"""Is every request accounted for, with possible times?"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import numpy as np
import polars as pl

from fireassay.estimates.format import count, given, percent
from fireassay.frames.record_data import RecordData
from fireassay.frames.serving.requests import TEXT, first_of, last_of
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.audit import SERVING, Audits
from fireassay.verdict.evidence.affected import by_configuration, in_launches
from fireassay.verdict.evidence.impossible_rows import backwards, blind, ended, impossible, in_launch, overlapping
from fireassay.verdict.evidence.sent_requests import begins, lengths, main, planned, requests_of, serving_of
from fireassay.verdict.types import Finding

AUDITS = Audits(about=SERVING)


# ---- ledger ----

LEDGER_SLACK_NS: Final = 150_000_000  # before the load's end: a successor this late may count as after it
KEYS: Final = ["launch", "request"]
LEDGER_REMEDY: Final = "this is a defect in assay or in the program that wrote the record: measure again, and report it"


@AUDITS.add("ledger", "Has every request that was due exactly one outcome?", title="requests unaccounted for")
def examine_ledger(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """One finding per configuration and kind of discrepancy, over timed and fault launches.

        due = requests with a due time, cold requests, and successors of a request that ended, plus its pause, before the load's end

    The schedule (`fireassay.traffic.arrivals.schedule`) lists the requests to send, the table of requests their outcomes. A request without
    a row was lost silently, one with two was counted twice, one outside the schedule was invented: each distorts rates and shares, so the
    record is inadmissible. Cannot tell: whether a row is true; `littles_law` and `stall` check its times.
    """
    requests = requests_of(measured, "status", "done_ns", role=None)
    plan = planned(measured, "phase", "stream", "session", "turn", "due_ns", "pause_ns")
    if requests.height and plan.height == 0:
        evidence = "the record has no schedule, so silently lost requests would go unnoticed"
        return (Finding("ledger_not_measured", "note", None, evidence, "measure with assay; imported results seldom contain the schedule"),)
    launches = measured.table("launches").filter(pl.col("status") == "ok").select("launch", "configuration")
    plan = plan.join(launches, on="launch")
    return (
        *_twice(measured, requests),
        *_invented(measured, requests, plan),
        *_silent(measured, requests, plan),
        *_died(measured, requests),
    )


def _twice(measured: RecordData, requests: pl.DataFrame) -> Iterator[Finding]:
    again = requests.group_by("configuration", *KEYS).len().filter(pl.col("len") > 1).sort(KEYS)
    yield from _ledger_findings(measured, again, "requests_twice", "have more than one outcome")


def _invented(measured: RecordData, requests: pl.DataFrame, plan: pl.DataFrame) -> Iterator[Finding]:
    extra = requests.join(plan, on=KEYS, how="anti").sort(KEYS)
    yield from _ledger_findings(measured, extra, "requests_unplanned", "are not in the schedule")


def _silent(measured: RecordData, requests: pl.DataFrame, plan: pl.DataFrame) -> Iterator[Finding]:
    missing = due(measured, requests, plan).join(requests, on=KEYS, how="anti").sort(KEYS)
    yield from _ledger_findings(measured, missing, "requests_lost", "were due and have no outcome")


def _died(measured: RecordData, requests: pl.DataFrame) -> Iterator[Finding]:
    # those that were lost with their host are the finding client_host_lost
    hosts = measured.table("events").filter(pl.col("kind") == "client_lost").select("launch").unique()
    lost = requests.filter(pl.col("status") == "lost").join(hosts, on="launch", how="anti").sort(KEYS)
    for name, group in by_configuration(measured, lost):
        evidence = f"a client process died and left {count(group.height, 'requests')} without an outcome ({in_launches(group['launch'])})"
        yield Finding("client_died", "invalid", name, evidence, "read the client's log in the record; the load was not the one requested")


def due(measured: RecordData, requests: pl.DataFrame, plan: pl.DataFrame) -> pl.DataFrame:
    """The planned requests that became due: (launch, request, configuration)."""
    ended = requests.group_by(KEYS).agg(pl.col("done_ns").max())
    chained = _in_queries(measured, plan, ended) if _together(measured) else _in_chains(plan, ended)
    # A sent request proves that its predecessor had ended, with or without a row.
    sent = chained.join(ended, on=KEYS, how="semi")
    leads = sent.select("launch", pl.col("follows").alias("request")).drop_nulls().unique().with_columns(leads=True)
    known = chained.join(leads, on=KEYS, how="left").join(begins(measured), on="launch", how="left")
    known = known.join(lengths(measured), on="launch", how="left")
    by_time = pl.col("due_ns") < pl.col("length_ns")
    last = pl.col("load_ns") + pl.col("length_ns")
    by_end = pl.col("due_ns").is_null() & (pl.col("before_ns") + pl.col("pause_ns") < last - LEDGER_SLACK_NS)
    is_due = pl.any_horizontal(pl.col("phase") == "cold", by_time, by_end, pl.col("leads")).fill_null(value=False)
    return known.filter(is_due).select("launch", "request", "configuration")


def _in_chains(plan: pl.DataFrame, ended: pl.DataFrame) -> pl.DataFrame:
    """Add `follows`, the previous request of the session or stream, and `before_ns`, its end."""
    ordered = plan.sort(KEYS).with_columns(
        in_session=pl.col("request").shift(1).over("launch", "session"), in_stream=pl.col("request").shift(1).over("launch", "stream")
    )
    follows = (
        pl.when(pl.col("session").is_not_null() & (pl.col("turn") > 0))
        .then(pl.col("in_session"))
        .when(pl.col("stream").is_not_null())
        .then(pl.col("in_stream"))
    )
    before = ended.rename({"request": "follows", "done_ns": "before_ns"})
    waits = pl.when(pl.col("due_ns").is_null()).then(follows)
    return ordered.with_columns(waits.alias("follows")).join(before, on=["launch", "follows"], how="left")


def _together(measured: RecordData) -> int:
    """Requests per query; 0 if each stands alone."""
    arrivals = serving_of(measured).arrivals
    return arrivals.samples_per_query if arrivals.process == "multi_stream" else 0


def _in_queries(measured: RecordData, plan: pl.DataFrame, ended: pl.DataFrame) -> pl.DataFrame:
    """As `_in_chains`, for queries that start once all requests of the previous one have ended."""
    size = _together(measured)
    index = (pl.col("phase") != "cold").cum_sum().over("launch") - 1
    load = plan.sort(KEYS).with_columns(pl.when(pl.col("phase") != "cold").then(index // size).alias("query"))
    whole = (
        load.filter(pl.col("query").is_not_null())
        .join(ended, on=KEYS, how="left")
        .group_by("launch", "query")
        .agg(
            pl.col("request").max().alias("follows"),
            pl.when(pl.col("done_ns").null_count() == 0).then(pl.col("done_ns").max()).alias("before_ns"),
        )
    )
    return load.join(whole.with_columns(pl.col("query") + 1), on=["launch", "query"], how="left")


def _ledger_findings(measured: RecordData, bad: pl.DataFrame, rule: str, words: str) -> Iterator[Finding]:
    for name, requests in by_configuration(measured, bad):
        first = requests.row(0, named=True)
        is_one = requests.height == 1
        shown = words.replace("have", "has", 1).replace("are", "is", 1).replace("were", "was", 1) if is_one else words
        evidence = f"{count(requests.height, 'requests')} {shown}, the first: request {first['request']} of launch {first['launch']}"
        yield Finding(rule, "invalid", name, evidence, LEDGER_REMEDY)


@AUDITS.blind("ledger")
def blind_ledger(measured: RecordData, _: Results) -> str | None:
    """Blind without a schedule."""
    return None if measured.table("arrivals").height else "the record has no schedule"


# ---- request times ----

TIMES_SLACK_NS: Final = 50_000
TIMES_ORDER: Final = ("sent_ns", "first_byte_ns", "first_token_ns", "first_visible_ns", "last_token_ns", "done_ns")
TIMES_LASTING: Final = ("connect_ns", "tokenize_ns", "prefill_ns")
TIMES_NEEDED: Final = ("launch", "request", "phase", "stream", "session", "scheduled_ns", *TIMES_ORDER, *TIMES_LASTING)


@AUDITS.add("request_times", "Are the times of the requests possible?", title="impossible request times", blind=blind)
def examine_times(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """At most one finding per rule.

        sent <= first byte <= first text <= first visible text <= last text <= done;   connecting, tokenizing, pre-filling >= 0
        chunk times never decrease, none is after done; either every chunk has an uncertainty >= 0, or none has one
        the first and the last text arrived with a chunk that contains text
        one request at a time per stream and per session; all of them inside their launch
        due = begin of the load + scheduled offset, to the nanosecond

    One client stamps requests with one clock, to which kernel timestamps are converted (`traffic/wire/sockets.py`), so a row that breaks a
    rule was not measured: INVALID. Slack: 50 us, the possible error of a kernel timestamp. Rows of a client that died are skipped. Cannot
    tell: a latency shortened everywhere alike.
    """
    if measured.foreign is not None:
        return ()
    requests = measured.table("requests")
    rows = requests.filter(pl.col("status") != "lost").select(TIMES_NEEDED)
    order = [
        finding
        for earlier, later in _pairs()
        for finding in backwards("request_runs_backwards", "requests", rows, earlier, later, TIMES_SLACK_NS)
    ]
    lasting = [
        finding
        for name in TIMES_LASTING
        for finding in impossible(f"{name}_negative", "requests", rows.filter(pl.col(name) < 0), f"{name} is {{{name}}}, less than 0")
    ]
    return (
        *order,
        *lasting,
        *_chunks(requests),
        *_at_once(rows),
        *_due(measured, rows),
        *in_launch("request_outside_launch", "requests", rows, ended(measured), "sent_ns", "done_ns", TIMES_SLACK_NS),
    )


def _pairs() -> list[tuple[str, str]]:
    """Neighbouring times, and those that become neighbours if a time in between is null."""
    return [
        *pairwise(TIMES_ORDER),
        ("sent_ns", "first_token_ns"),
        ("sent_ns", "done_ns"),
        ("first_token_ns", "last_token_ns"),
        ("first_byte_ns", "done_ns"),
    ]


def _chunks(requests: pl.DataFrame) -> tuple[Finding, ...]:
    """Reduce each request's lists to numbers: the lists of a million requests are too large to filter."""
    chunk_ns, unsure = pl.col("chunk_ns").list, pl.col("chunk_uncertainty_ns").list
    chunks = requests.select(
        "launch",
        "request",
        "status",
        "sent_ns",
        "first_token_ns",
        "last_token_ns",
        _done=pl.col("done_ns") - pl.col("sent_ns"),
        _first=chunk_ns.first(),
        _last=chunk_ns.max(),
        _lengths=chunk_ns.len(),
        _unsure=unsure.len(),
        _least=unsure.min(),
        _kinds=pl.col("chunk_kind").list.len(),
        _chars=pl.col("chunk_chars").list.len(),
        _falls=_falls(requests["chunk_ns"]),
        _bearing=pl.col("chunk_kind").list.eval(pl.element().is_in(TEXT)).list.any(),
        _first_text=chunk_ns.get(first_of(TEXT), null_on_oob=True),
        _last_text=chunk_ns.get(last_of(TEXT), null_on_oob=True),
    )
    times = chunks.filter((pl.col("_lengths") > 0) & pl.col("sent_ns").is_not_null() & (pl.col("status") != "lost"))
    unequal = (pl.col("_lengths") != pl.col("_kinds")) | (pl.col("_lengths") != pl.col("_chars"))
    return (
        *impossible(
            "chunks_run_backwards", "requests", times.filter(pl.col("_falls") < 0), "a chunk came {_falls} ns after the one before it"
        ),
        *impossible(
            "chunk_before_sending",
            "requests",
            times.filter(pl.col("_first") < -TIMES_SLACK_NS),
            "its first chunk came {_first} ns after it was sent",
        ),
        *impossible(
            "chunk_after_end",
            "requests",
            times.filter(pl.col("_last") > pl.col("_done") + TIMES_SLACK_NS),
            "a chunk came {_last} ns after the request was sent, which was done after {_done} ns",
        ),
        *impossible("chunks_unequal", "requests", times.filter(unequal), "{_lengths} chunk times, {_kinds} kinds and {_chars} lengths"),
        *impossible(
            "uncertainties_unequal",
            "requests",
            times.filter((pl.col("_unsure") > 0) & (pl.col("_unsure") != pl.col("_lengths"))),
            "{_lengths} chunk times and {_unsure} uncertainties",
        ),
        *impossible(
            "uncertainty_negative",
            "requests",
            times.filter(pl.col("_least") < 0),
            "the uncertainty of a chunk's time is {_least} ns, less than 0",
        ),
        *_texts(times.filter(~unequal & pl.col("_bearing"))),
    )


def _falls(chunk_ns: pl.Series) -> pl.Series:
    """The largest decrease between successive chunks of each answer, 0 if none; for all answers at once, since few have any."""
    lengths = chunk_ns.list.len().cast(pl.Int64).to_numpy()
    some = np.flatnonzero(lengths)
    ends = np.cumsum(lengths[some])
    steps = np.diff(chunk_ns.filter(chunk_ns.list.len() > 0).explode().to_numpy())
    steps[ends[:-1] - 1] = 0  # boundary between two answers
    fallen = np.flatnonzero(steps < 0)
    deepest = np.zeros(len(lengths), dtype=np.int64)
    np.minimum.at(deepest, some[np.searchsorted(ends, fallen, side="right")], steps[fallen])
    return pl.Series(deepest)


def _texts(times: pl.DataFrame) -> Iterator[Finding]:
    """The first and the last text are recorded twice: as times of their own and as times of their chunks."""
    for name, column in (("first_token_ns", "_first_text"), ("last_token_ns", "_last_text")):
        both = times.with_columns(_reported=pl.col("sent_ns") + pl.col(column))
        bad = both.filter((pl.col(name) - pl.col("_reported")).abs() > TIMES_SLACK_NS)
        yield from impossible(f"{name}_differs", "requests", bad, f"{name} is {{{name}}}; by its chunks it is {{_reported}}")


def _at_once(rows: pl.DataFrame) -> tuple[Finding, ...]:
    """One request at a time on a stream, and in a session."""
    sent, findings = rows.drop_nulls(["sent_ns", "done_ns"]), list[Finding]()
    for series in ("stream", "session"):
        ordered = sent.drop_nulls(series).sort("launch", series, "sent_ns", "done_ns")
        findings += overlapping(f"{series}_overlaps", "requests", ordered, ["launch", series], "sent_ns", "done_ns", TIMES_SLACK_NS)
    return tuple(findings)


def _due(measured: RecordData, rows: pl.DataFrame) -> tuple[Finding, ...]:
    plan = measured.table("arrivals").select("launch", "request", "due_ns").drop_nulls("due_ns")
    both = (
        rows.join(plan, on=["launch", "request"])
        .join(begins(measured), on="launch")
        .with_columns(_due=pl.col("load_ns") + pl.col("due_ns"))
    )
    return impossible(
        "due_differs",
        "requests",
        both.filter((pl.col("scheduled_ns") - pl.col("_due")).abs() > TIMES_SLACK_NS),
        "scheduled_ns is {scheduled_ns}; by the schedule it is {_due}",
    )


# ---- unfinished ----

UNFINISHED_MANY: Final = 0.01
UNFINISHED_WORDS: Final = "after the last request was due"  # the client's wording; other timeouts of a request are the server's


@AUDITS.add("unfinished", "Were answers cut off because the load had ended?", title="answers cut off")
def examine_unfinished(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One finding per configuration with requests cut off by the drain.

    After the last request is due, the client waits serving.arrivals.drain_s for requests under way; any that remain are timeouts and
    misses. A warning from 1 % of a configuration's requests, below that a note: its slowest answers are then missing from every latency,
    and their number depends on the drain. Cannot tell: how long those answers would have taken.
    """
    drain_s = serving_of(measured).arrivals.drain_s
    for name, rows in by_configuration(measured, main(measured, "status", "error")):
        cut = rows.filter((pl.col("status") == "timeout") & pl.col("error").str.contains(UNFINISHED_WORDS, literal=True)).height
        if cut:
            evidence = (
                f"{cut:,} of {rows.height:,} requests ({percent(cut / rows.height)}) had not ended {given(drain_s)} s after the last one was due; they "
                "count as misses, and are in no latency"
            )
            remedy = "raise serving.arrivals.drain_s, or reduce the load"
            yield Finding("answers_cut_off", "warning" if cut >= UNFINISHED_MANY * rows.height else "note", name, evidence, remedy)
