"""Are the times of the requests possible?

    sent <= first byte <= first text <= first visible text <= last text <= done;   connecting, tokenizing, pre-filling >= 0
    chunk times never decrease, none is after done; either every chunk has an uncertainty >= 0, or none has one
    the first and the last text arrived with a chunk that contains text
    one request at a time per stream and per session; all of them inside their launch
    due = begin of the load + scheduled offset, to the nanosecond

One client stamps requests with one clock, to which kernel timestamps are converted (`traffic/wire/sockets.py`), so a row that breaks a rule was
not measured: INVALID. Slack: 50 us, the possible error of a kernel timestamp. Rows of a client that died are skipped. Cannot tell: a
latency shortened everywhere alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import numpy as np
import polars as pl

from fireassay.frames.record_data import RecordData
from fireassay.frames.serving.stamp_uncertainty import TEXT, first_of, last_of
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.impossible_rows import backwards, blind, ended, impossible, in_launch, overlapping
from fireassay.verdict.evidence.sent_requests import begins
from fireassay.verdict.types import Finding

SLACK_NS: Final = 50_000
ORDER: Final = ("sent_ns", "first_byte_ns", "first_token_ns", "first_visible_ns", "last_token_ns", "done_ns")
LASTING: Final = ("connect_ns", "tokenize_ns", "prefill_ns")
NEEDED: Final = ("launch", "request", "phase", "stream", "session", "scheduled_ns", *ORDER, *LASTING)


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """At most one finding per rule."""
    if measured.foreign is not None:
        return ()
    requests = measured.table("requests")
    rows = requests.filter(pl.col("status") != "lost").select(NEEDED)
    order = [
        finding
        for earlier, later in _pairs()
        for finding in backwards("request_runs_backwards", "requests", rows, earlier, later, SLACK_NS)
    ]
    lasting = [
        finding
        for name in LASTING
        for finding in impossible(f"{name}_negative", "requests", rows.filter(pl.col(name) < 0), f"{name} is {{{name}}}, less than 0")
    ]
    return (
        *order,
        *lasting,
        *_chunks(requests),
        *_at_once(rows),
        *_due(measured, rows),
        *in_launch("request_outside_launch", "requests", rows, ended(measured), "sent_ns", "done_ns", SLACK_NS),
    )


def _pairs() -> list[tuple[str, str]]:
    """Neighbouring times, and those that become neighbours if a time in between is null."""
    return [
        *pairwise(ORDER),
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
            times.filter(pl.col("_first") < -SLACK_NS),
            "its first chunk came {_first} ns after it was sent",
        ),
        *impossible(
            "chunk_after_end",
            "requests",
            times.filter(pl.col("_last") > pl.col("_done") + SLACK_NS),
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
        bad = both.filter((pl.col(name) - pl.col("_reported")).abs() > SLACK_NS)
        yield from impossible(f"{name}_differs", "requests", bad, f"{name} is {{{name}}}; by its chunks it is {{_reported}}")


def _at_once(rows: pl.DataFrame) -> tuple[Finding, ...]:
    """One request at a time on a stream, and in a session."""
    sent, findings = rows.drop_nulls(["sent_ns", "done_ns"]), list[Finding]()
    for series in ("stream", "session"):
        ordered = sent.drop_nulls(series).sort("launch", series, "sent_ns", "done_ns")
        findings += overlapping(f"{series}_overlaps", "requests", ordered, ["launch", series], "sent_ns", "done_ns", SLACK_NS)
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
        both.filter((pl.col("scheduled_ns") - pl.col("_due")).abs() > SLACK_NS),
        "scheduled_ns is {scheduled_ns}; by the schedule it is {_due}",
    )


AUDIT = Audit(
    name="request_times",
    title="impossible request times",
    question="Are the times of the requests possible?",
    examine=examine,
    about=("serving",),
    blind=blind,
)
