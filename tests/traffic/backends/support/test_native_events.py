"""Is what all dialects have in common read once: errors, JSON that is none, and answers that do not end?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from fireassay.traffic.backends.support.native_events import AnswerBuilder, finish_of, read_events
from fireassay.traffic.parts import Answer, Kind
from tests.traffic.transcripts import reply_of


def take(told: Mapping[str, Any], name: str, ns: int, into: AnswerBuilder) -> None:
    into.add_text(ns, told["t"], empty=Kind.FINISH if "end" in told else Kind.ROLE)
    into.finish(told.get("end"))
    into.tokens(told.get("usage", {}), {"tokens_out": "n"})


def read(*events: str, ended: Any = "complete") -> Answer:
    return read_events(reply_of([(10 * place, f"data: {event}\n\n".encode()) for place, event in enumerate(events)], ended=ended), take)


def test_an_answer_that_says_its_end_is_ok() -> None:
    answer = read('{"t":"a"}', '{"t":"b","usage":{"n":2.0}}', '{"t":"","end":"eos_token"}')
    assert (answer.status, answer.text, answer.tokens_out, answer.finish_reason) == ("ok", "ab", 2, "stop")
    assert (answer.chunk_ns, answer.chunk_kind, answer.chunk_chars) == ([0, 10, 20], [1, 1, 4], [1, 1, 0])


@pytest.mark.parametrize(
    ("events", "status", "why"),
    [
        (('{"t":"a"}',), "truncated", "without a finish reason"),
        ((), "malformed", "no chunk"),
        (('{"t":"a"}', "nonsense", '{"t":"","end":"stop"}'), "malformed", "not JSON"),
        (("[1]", '{"t":"","end":"stop"}'), "malformed", "not a JSON object"),
        (('{"x":1}', '{"t":"","end":"stop"}'), "malformed", "does not fit its dialect: KeyError"),
        (('{"t":"a","usage":{"n":-1}}', '{"t":"","end":"stop"}'), "malformed", "not a count"),
        (('{"t":"a","usage":{"n":NaN}}', '{"t":"","end":"stop"}'), "malformed", "not a count"),
        (('{"t":"a"}', '{"error":{"message":"out of memory"}}'), "error", "out of memory"),
        (('{"t":"a"}', '{"error":"x"}', '{"t":"","end":"stop"}'), "error", "x"),
    ],
)
def test_what_went_wrong_is_told(events: tuple[str, ...], status: str, why: str) -> None:
    answer = read(*events)
    assert (answer.status, why in (answer.error or "")) == (status, True)
    assert len(answer.chunk_ns) == len(events)


def test_the_transport_s_verdict_comes_first_and_keeps_what_came() -> None:
    answer = read('{"t":"a"}', ended="timeout")
    assert (answer.status, answer.text) == ("timeout", "a")
    assert read('{"t":"a"}', '{"error":"why"}', ended="closed").status == "error"  # it said so before it hung up
    assert read_events(reply_of([], ended="refused", http_status=None), take).status == "refused"


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("END_TURN", "stop"),
        ("MAX_TOKENS", "length"),
        ("eos", "stop"),
        ("limit", "length"),
        ("SAFETY", "safety"),
        (None, None),
        ("", None),
        (3, None),
    ],
)
def test_finish_reasons_are_told_in_two_words_where_they_mean_these(said: object, meant: str | None) -> None:
    assert finish_of(said) == meant
