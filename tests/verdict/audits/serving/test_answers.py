"""Are these the answers to what was asked, from the model that was asked?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from fireassay.verdict.types import Finding
from tests.serving_made import ServingMade
from tests.verdict.served import blind, changed, clean, found, rules

# ---- agreement ----
# agreement: the grade asked for against the grade of the answers.


def asked(texts: tuple[str, ...], grade: str, *, logprobs: tuple[float, ...] = ()) -> ServingMade:
    made = ServingMade(rate=(1.0,), blocks=1, correctness={"identity": 1, "grade": grade})
    launch = made.launch()
    for place, text in enumerate(texts):
        made.request(
            launch,
            float(place),
            kind="identity" if place == 0 else "rerun",
            example="7",
            text=text,
            logprobs=logprobs,
            tokens_out=1,
            chars=[len(text)],
            replica=place,
        )
    return made


SAME, OTHER = ("yes", "yes"), ("yes", "no")


@pytest.mark.parametrize(
    ("texts", "grade", "rule"),
    [
        (SAME, "token_identical", []),
        (SAME, "near_tie", []),
        (SAME, "none", []),
        (SAME, "bitwise", [("agreement_not_shown", "warning")]),
        (OTHER, "none", [("answers_differ", "note")]),
        (OTHER, "token_identical", [("agreement", "fail")]),
        (OTHER, "bitwise", [("agreement", "fail")]),
        (OTHER, "near_tie", [("agreement_not_shown", "warning")]),
    ],
)
def test_what_is_shown_and_what_is_possible_decide(texts: tuple[str, ...], grade: str, rule: list[tuple[str, str]]) -> None:
    assert rules("agreement", asked(texts, grade).measured()) == rule


def test_a_failure_says_what_was_found_and_where() -> None:
    (finding,) = found("agreement", asked(OTHER, "near_tie", logprobs=(-0.1,)).measured())
    assert finding.severity == "fail"
    assert finding.evidence == (
        "the agreement of answers to equal prompts is graded fail, near_tie is required: 1 of 2 answers to 1 prompt differ, the worst: "
        "example 7 of launch 0, replica 1, after 0 characters"
    )


def test_a_grade_that_nothing_was_measured_for_is_a_warning() -> None:
    made = ServingMade(rate=(1.0,), blocks=1, correctness={"identity": 1, "grade": "bitwise"})
    made.request(made.launch(), 0.0)
    assert rules("agreement", made.measured()) == [("agreement_not_measured", "warning")]
    assert blind("agreement", made.measured()) is not None


def test_without_a_check_nothing_is_said() -> None:
    assert found("agreement", clean()) == ()


# ---- duplicate answers ----
# duplicate_answers: one text for many prompts is named; short answers and the same prompt again are not.

LONG = "this is an answer of more than twenty-four characters"


def duplicates_answered(text: Callable[[int], str | None], *, example: Callable[[int], str] = str) -> ServingMade:
    made = ServingMade(rate=(10.0,), blocks=1)
    launch = made.launch()
    for place in range(100):
        made.request(launch, 0.1 * place, text=text(place), example=example(place))
    return made


def test_different_answers_are_fine() -> None:
    assert found("duplicate_answers", duplicates_answered(lambda place: f"{LONG} {place}").measured()) == ()


def test_one_answer_for_all_is_named() -> None:
    (finding,) = found("duplicate_answers", duplicates_answered(lambda _: LONG).measured())
    assert (finding.rule, finding.severity) == ("answers_repeat", "warning")
    assert finding.evidence.startswith("100 % of 100 answers were also given to another prompt (launch 0)")


def test_a_twentieth_is_let_pass_and_more_is_not() -> None:
    assert found("duplicate_answers", duplicates_answered(lambda place: LONG if place < 5 else f"{LONG} {place}").measured()) == ()
    assert len(found("duplicate_answers", duplicates_answered(lambda place: LONG if place < 6 else f"{LONG} {place}").measured())) == 1


def test_the_same_prompt_may_have_the_same_answer() -> None:
    assert found("duplicate_answers", duplicates_answered(lambda _: LONG, example=lambda _: "one").measured()) == ()


def test_short_answers_may_be_shared_and_show_nothing() -> None:
    measured = duplicates_answered(lambda _: "yes").measured()
    assert found("duplicate_answers", measured) == ()
    assert blind("duplicate_answers", measured) is not None


# ---- cross talk ----
# cross_talk: one answer with another's nonce is a failure; echoes of one's own are not.

NONCES = ("nonce-alpha", "nonce-bravo", "nonce-charlie")


def canaries(answers: tuple[str | None, ...], *, extra: str | None = None, role: str = "timed") -> ServingMade:
    made = ServingMade(rate=(1.0,), blocks=1)
    launch = made.launch(role=role)
    for place, (nonce, text) in enumerate(zip(NONCES, answers, strict=True)):
        made.request(launch, float(place), kind="canary", expected=nonce, text=text)
    if extra is not None:
        made.request(launch, 5.0, text=extra)
    return made


def test_everybody_gets_their_own() -> None:
    assert found("cross_talk", clean()) == ()
    assert found("cross_talk", canaries(NONCES).measured()) == ()
    assert blind("cross_talk", canaries(NONCES).measured()) is None


def test_swapped_answers_fail_and_are_named() -> None:
    swapped = (NONCES[1], NONCES[0], NONCES[2])
    (finding,) = [one for one in found("cross_talk", canaries(swapped).measured()) if one.severity == "fail"]
    assert finding.rule == "cross_talk"
    assert finding.evidence == ("2 answers contain another request's nonce, the first: request 0 of launch 0 got the nonce of request 1")


def test_one_swap_among_simulated_canaries_is_enough() -> None:
    """The answer to one canary of the middle launch is given to a plain request."""
    record = clean()
    nonce = record.table("arrivals").filter((pl.col("kind") == "canary") & (pl.col("launch") == 1))["expected"][0]
    plain = record.table("requests").filter((pl.col("kind") == "normal") & (pl.col("launch") == 1) & (pl.col("phase") == "main"))
    victim = (pl.col("launch") == 1) & (pl.col("request") == plain["request"][3])
    text = pl.when(victim).then(pl.lit(f"well, {nonce} then")).otherwise(pl.col("text"))
    assert rules("cross_talk", changed(record, "requests", lambda frame: frame.with_columns(text=text))) == [("cross_talk", "fail")]


def test_an_answer_that_holds_anothers_nonce_beside_ones_own_fails_too() -> None:
    assert ("cross_talk", "fail") in rules("cross_talk", canaries((f"{NONCES[0]} {NONCES[1]}", *NONCES[1:])).measured())


def test_a_fault_launch_is_looked_at_too() -> None:
    assert ("cross_talk", "fail") in rules("cross_talk", canaries((NONCES[1], *NONCES[1:]), role="fault").measured())


def test_a_nonce_that_begins_another_is_no_strangers() -> None:
    made = ServingMade(rate=(1.0,), blocks=1)
    launch = made.launch()
    for place, nonce in enumerate(("nonce-1", "nonce-12")):
        made.request(launch, float(place), kind="canary", expected=nonce, text=nonce)
    assert found("cross_talk", made.measured()) == ()


def test_a_model_that_does_not_answer_is_no_swap_and_is_said() -> None:
    measured = canaries(("no", "no", "no")).measured()
    assert rules("cross_talk", measured) == [("canaries_unanswered", "note")]
    assert "so a swap would look the same" in (blind("cross_talk", measured) or "")


def test_without_canaries_it_says_that_it_cannot_look() -> None:
    assert rules("cross_talk", clean(canaries=0.0)) == [("cross_talk_not_measured", "note")]
    assert blind("cross_talk", clean(canaries=0.0)) == "no request carried a nonce (serving.correctness.canaries)"


def test_answers_whose_text_was_not_kept_show_nothing() -> None:
    assert rules("cross_talk", canaries((None, None, None)).measured()) == [("cross_talk_not_measured", "note")]


# ---- answers as asked ----
# answers_as_asked: whole answers instead of streams, and usage that the text cannot have.


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


def test_a_stream_that_comes_at_one_moment_is_named() -> None:
    held: dict[str, Any] = {"kinds": [1] * 20, "chars": [4] * 20, "tokens_out": 20}
    assert named(made(at_s=[0.3] * 20, **held)) == [("came_at_once", "warning")]
    assert named(made(at_s=[0.3 + 0.001 * n for n in range(20)], **held)) == []  # 1 ms a token


def test_an_answer_without_the_finish_reason_that_the_others_have_is_named() -> None:
    record = ServingMade(rate=(1.0,), blocks=1)
    launch = record.launch()
    for second in range(4):
        record.request(launch, float(second), finish_reason=None if second == 2 else "stop")
    assert named(record) == [("unfinished", "warning")]
    assert named(made(finish_reason=None)) == []  # half of them: a server that seldom sends one


def test_reasoning_that_is_counted_and_not_shown_is_named() -> None:
    hidden: dict[str, Any] = {"at_s": [0.3, 0.4, 0.5], "chars": [4] * 3, "tokens_out": 18, "reasoning_tokens": 15}
    assert named(made(kinds=[1, 1, 1], **hidden)) == [("reasoning_hidden", "note")]
    assert named(made(kinds=[2, 2, 1], **hidden)) == []


def test_fewer_tokens_than_chunks_with_text_are_named() -> None:
    assert named(made(at_s=[0.1, 0.2, 0.3], kinds=[1, 1, 1], chars=[4, 4, 4], tokens_out=2)) == [("usage_impossible", "warning")]


def test_more_tokens_than_bytes_are_named_unless_the_engine_was_told_to_go_on() -> None:
    much: dict[str, Any] = {"at_s": [0.1, 0.2], "kinds": [1, 1], "chars": [3, 3], "tokens_out": 100}
    assert named(made(ignore_eos=False, **much)) == [("usage_impossible", "warning")]
    assert named(made(**much)) == []
    assert named(made(ignore_eos=False, **{**much, "reasoning_tokens": 90})) == [("reasoning_hidden", "note")]


# ---- answer model ----
# answer_model: answers by another model than the one asked for.


def answer_model_answered(*launches: Any, asked: str = "meta/llama-3") -> tuple[Finding, ...]:
    made = ServingMade(concurrency=(1,), blocks=max(1, len(launches)), seconds=60.0)
    for block, models in enumerate(launches):
        launch = made.launch(block=block)
        made.request(launch, 0.0, stream=0, at_s=[0.1], tokens_out=1)
        made.event(launch, "answer_models", 60.0, detail={"asked": asked, "answered": models})
    return found("answer_model", made.measured())


def test_what_is_not_told_is_no_finding() -> None:
    assert found("answer_model", clean()) == ()
    assert answer_model_answered({"meta/llama-3": 10}) == ()
    assert answer_model_answered({"other": 10}, asked="") == ()


def test_another_model_is_named_with_its_answers_over_all_launches() -> None:
    (finding,) = answer_model_answered({"meta/llama-3": 10, "small": 1}, {"small": 3, "meta/llama-3": 1})
    assert (finding.rule, finding.severity, finding.configuration) == ("another_model", "warning", "concurrency=1")
    assert finding.evidence == ('"meta/llama-3" was requested; of 15 answers that name their model, others are by "small" (4 answers)')


@pytest.mark.parametrize("name", ["llama-3", "/models/Llama-3", "meta/llama-3-20260101", "llama-3:awq"])
def test_a_folder_or_a_version_is_a_note(name: str) -> None:
    (finding,) = answer_model_answered({name: 5})
    assert (finding.rule, finding.severity) == ("model_by_another_name", "note")


@pytest.mark.parametrize("name", ["llama-33", "llama", "lla", "qwen", "llama-3/x"])
def test_a_longer_or_shorter_word_is_another_model(name: str) -> None:
    """ "llama" may be a form of "llama-3" too: nothing says which of the two is the alias."""
    (finding,) = answer_model_answered({name: 5})
    assert finding.rule == ("model_by_another_name" if name == "llama" else "another_model")


@pytest.mark.parametrize("answered_by", [None, 5, "x", ["x"], {"x": "many"}, {"x": None}, {"x": -1}, {"x": True}])
def test_a_hostile_event_harms_nothing(answered_by: Any) -> None:
    assert answer_model_answered(answered_by) == ()
