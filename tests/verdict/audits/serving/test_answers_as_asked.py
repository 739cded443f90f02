"""answers_as_asked: whole answers instead of streams, and usage that the text cannot have."""

from __future__ import annotations

from typing import Any

from tests.serving_made import ServingMade
from tests.verdict.served import clean, rules


def made(ignore_eos: bool = True, stream: bool = True, **row: Any) -> ServingMade:
    record = ServingMade(rate=(10.0,), blocks=1, stream=stream, ignore_eos=ignore_eos)
    launch = record.launch()
    for place in range(100):
        record.request(launch, 0.1 * place, **(row if place % 2 else {}))
    return record


def named(record: ServingMade) -> list[tuple[str, str]]:
    return rules("answers_as_asked", record.measured())


def test_an_honest_engine_is_not_named() -> None:
    assert rules("answers_as_asked", clean()) == []
    assert named(made()) == []


WHOLE: dict[str, Any] = {"at_s": [0.3], "kinds": [1], "chars": [40], "tokens_out": 10}


def test_one_json_for_a_stream_is_named() -> None:
    assert named(made(**WHOLE)) == [("not_streamed", "warning")]
    assert named(made(stream=False, **WHOLE)) == []


def test_one_json_without_usage_is_named_where_its_text_is_longer_than_a_token() -> None:
    assert named(made(**{**WHOLE, "tokens_out": None})) == [("not_streamed", "warning")]
    assert named(made(**{**WHOLE, "tokens_out": None, "chars": [12]})) == []


def test_fewer_tokens_than_chunks_with_text_are_named() -> None:
    assert named(made(at_s=[0.1, 0.2, 0.3], kinds=[1, 1, 1], chars=[4, 4, 4], tokens_out=2)) == [("usage_impossible", "warning")]


def test_more_tokens_than_bytes_are_named_unless_the_engine_was_told_to_go_on() -> None:
    much: dict[str, Any] = {"at_s": [0.1, 0.2], "kinds": [1, 1], "chars": [3, 3], "tokens_out": 100}
    assert named(made(ignore_eos=False, **much)) == [("usage_impossible", "warning")]
    assert named(made(**much)) == []
    assert named(made(ignore_eos=False, **{**much, "reasoning_tokens": 90})) == []
