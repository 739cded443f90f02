"""A finished request becomes one row of the table, with nulls where nothing was seen, in batches of bounded size."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from fireassay.record.arrow_schemas import arrow_schema
from fireassay.traffic.client import log as log_module
from fireassay.traffic.client.log import LogRow, RequestLog, times_of
from fireassay.traffic.parts import Answer


def logged(*rows: tuple[LogRow, Answer], **options: Any) -> list[dict[str, Any]]:
    batches: list[pa.RecordBatch] = []
    log = RequestLog(launch=3, client=1, put=batches.append, **options)
    for row, answer in rows:
        log.add(row, answer, times_of(answer))
    log.flush()
    assert all(batch.schema.equals(arrow_schema("requests")) for batch in batches)
    for batch in batches:
        batch.validate(full=True)
    return [row for batch in batches for row in batch.to_pylist()]


FULL = LogRow(
    request=7,
    phase=2,
    kind=1,
    stream=4,
    session=5,
    turn=6,
    replica=0,
    transport="lean",
    scheduled_ns=900,
    sent_ns=1000,
    connect_ns=50,
    first_byte_ns=1100,
    done_ns=1500,
    http_status=200,
    bytes_out=10,
    bytes_in=20,
)
SAID = Answer(
    status="ok",
    finish_reason="stop",
    tokens_in=3,
    tokens_out=2,
    tokens_reasoning=1,
    tokens_cached=0,
    chunk_ns=[1100, 1200, 1300, 1400],
    chunk_kind=[0, 2, 1, 5],
    chunk_chars=[0, 3, 4, 0],
    text="text",
    reasoning="why",
    logprobs=[-0.5, -1.5],
    tokenize_ns=7,
    chunk_uncertainty_ns=[0, 5, 0, 6],
)


def test_a_row_has_every_column_of_the_table() -> None:
    assert logged((FULL, SAID)) == [
        {
            "launch": 3,
            "request": 7,
            "client": 1,
            "phase": "main",
            "kind": "canary",
            "stream": 4,
            "session": 5,
            "turn": 6,
            "replica": 0,
            "transport": "lean",
            "scheduled_ns": 900,
            "sent_ns": 1000,
            "connect_ns": 50,
            "first_byte_ns": 1100,
            "first_token_ns": 1200,
            "first_visible_ns": 1300,
            "last_token_ns": 1300,
            "done_ns": 1500,
            "status": "ok",
            "http_status": 200,
            "error": None,
            "finish_reason": "stop",
            "tokens_in": 3,
            "tokens_out": 2,
            "tokens_reasoning": 1,
            "tokens_cached": 0,
            "chunk_ns": [100, 200, 300, 400],
            "chunk_kind": [0, 2, 1, 5],
            "chunk_chars": [0, 3, 4, 0],
            "bytes_out": 10,
            "bytes_in": 20,
            "text": "text",
            "reasoning": "why",
            "logprobs": [-0.5, -1.5],
            "tokenize_ns": 7,
            "prefill_ns": None,
            "chunk_uncertainty_ns": [0, 5, 0, 6],
        }
    ]


def test_what_was_not_seen_is_null() -> None:
    (row,) = logged((LogRow(request=0, phase=0, scheduled_ns=5), Answer(status="unsent", error="no connection")))
    known = {
        "launch": 3,
        "request": 0,
        "client": 1,
        "phase": "cold",
        "kind": "normal",
        "transport": "empty",
        "scheduled_ns": 5,
        "status": "unsent",
        "error": "no connection",
        "chunk_ns": [],
        "chunk_kind": [],
        "chunk_chars": [],
        "logprobs": [],
        "chunk_uncertainty_ns": [],
        "bytes_out": 0,
        "bytes_in": 0,
    }
    assert {name: value for name, value in row.items() if value is not None} == known


@pytest.mark.parametrize(
    ("kinds", "first", "visible", "last"),
    [
        ([0, 1, 1, 4], 1, 1, 2),
        ([0, 2, 2, 4], 1, None, 2),
        ([0, 3, 4], 1, 1, 1),
        ([0, 4, 5, 6], None, None, None),
        ([], None, None, None),
        ([2, 1, 2], 0, 1, 2),
    ],
)
def test_the_first_and_last_text_are_told_by_the_kinds(kinds: list[int], first: int | None, visible: int | None, last: int | None) -> None:
    found = times_of(Answer(status="ok", chunk_kind=kinds, chunk_ns=list(range(len(kinds)))))
    assert (found.first_token_ns, found.first_visible_ns, found.last_token_ns) == (first, visible, last)


def test_batches_end_by_rows_and_by_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_module, "ROWS", 4)
    monkeypatch.setattr(log_module, "CHUNKS", 10)
    sizes: list[int] = []
    log = RequestLog(launch=0, client=0, put=lambda batch: sizes.append(batch.num_rows))
    for chunks in (1, 1, 1, 1, 9, 1, 10, 1):
        answer = Answer(status="ok", chunk_ns=[5] * chunks, chunk_kind=[1] * chunks, chunk_chars=[1] * chunks)
        log.add(FULL, answer, times_of(answer))
    log.flush()
    log.flush()
    assert sizes == [4, 2, 1, 1]
    assert log.rows == 8


def test_text_that_no_utf_8_can_hold_is_kept_as_far_as_it_can() -> None:
    (row,) = logged((FULL, Answer(status="ok", text="a\ud800b")))
    assert row["text"] == "a?b"
