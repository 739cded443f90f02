"""Has every request that was due exactly one outcome?

    due = requests with a due time, cold requests, and successors of a request that ended, plus its pause, before the load's end

The schedule (`fireassay.traffic.arrivals.schedule`) lists the requests to send, the table of requests their outcomes. A request without a row
was lost silently, one with two was counted twice, one outside the schedule was invented: each distorts rates and shares, so the record is
inadmissible. Cannot tell: whether a row is true; `littles_law` and `stall` check its times.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import polars as pl

from fireassay.estimates.format import count
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.affected import by_configuration, in_launches
from fireassay.verdict.evidence.sent_requests import begins, lengths, planned, rows, serving_of
from fireassay.verdict.types import Finding

SLACK_NS: Final = 150_000_000  # before the load's end: a successor this late may count as after it
KEYS: Final = ["launch", "request"]
REMEDY: Final = "this is a defect in assay or in the program that wrote the record: measure again, and report it"


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """One finding per configuration and kind of discrepancy, over timed and fault launches."""
    requests = rows(measured, "status", "done_ns", role=None)
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
    yield from _findings(measured, again, "requests_twice", "have more than one outcome")


def _invented(measured: RecordData, requests: pl.DataFrame, plan: pl.DataFrame) -> Iterator[Finding]:
    extra = requests.join(plan, on=KEYS, how="anti").sort(KEYS)
    yield from _findings(measured, extra, "requests_unplanned", "are not in the schedule")


def _silent(measured: RecordData, requests: pl.DataFrame, plan: pl.DataFrame) -> Iterator[Finding]:
    missing = due(measured, requests, plan).join(requests, on=KEYS, how="anti").sort(KEYS)
    yield from _findings(measured, missing, "requests_lost", "were due and have no outcome")


def _died(measured: RecordData, requests: pl.DataFrame) -> Iterator[Finding]:
    lost = requests.filter(pl.col("status") == "lost").sort(KEYS)
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
    by_end = pl.col("due_ns").is_null() & (pl.col("before_ns") + pl.col("pause_ns") < last - SLACK_NS)
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


def _findings(measured: RecordData, bad: pl.DataFrame, rule: str, words: str) -> Iterator[Finding]:
    for name, requests in by_configuration(measured, bad):
        first = requests.row(0, named=True)
        is_one = requests.height == 1
        shown = words.replace("have", "has", 1).replace("are", "is", 1).replace("were", "was", 1) if is_one else words
        evidence = f"{count(requests.height, 'requests')} {shown}, the first: request {first['request']} of launch {first['launch']}"
        yield Finding(rule, "invalid", name, evidence, REMEDY)


def blind(measured: RecordData, _: Results) -> str | None:
    """Blind without a schedule."""
    return None if measured.table("arrivals").height else "the record has no schedule"


AUDIT = Audit(
    name="ledger",
    title="requests unaccounted for",
    question="Has every request that was due exactly one outcome?",
    examine=examine,
    about=("serving",),
    blind=blind,
)
