"""duplicate_answers: one text for many prompts is named; short answers and the same prompt again are not."""

from __future__ import annotations

from collections.abc import Callable

from tests.serving_made import ServingMade
from tests.verdict.served import blind, found

LONG = "this is an answer of more than twenty-four characters"


def answered(text: Callable[[int], str | None], *, example: Callable[[int], str] = str) -> ServingMade:
    made = ServingMade(rate=(10.0,), blocks=1)
    launch = made.launch()
    for place in range(100):
        made.request(launch, 0.1 * place, text=text(place), example=example(place))
    return made


def test_different_answers_are_fine() -> None:
    assert found("duplicate_answers", answered(lambda place: f"{LONG} {place}").measured()) == ()


def test_one_answer_for_all_is_named() -> None:
    (finding,) = found("duplicate_answers", answered(lambda _: LONG).measured())
    assert (finding.rule, finding.severity) == ("answers_repeat", "warning")
    assert finding.evidence.startswith("100 % of 100 answers were also given to another prompt (launch 0)")


def test_a_twentieth_is_let_pass_and_more_is_not() -> None:
    assert found("duplicate_answers", answered(lambda place: LONG if place < 5 else f"{LONG} {place}").measured()) == ()
    assert len(found("duplicate_answers", answered(lambda place: LONG if place < 6 else f"{LONG} {place}").measured())) == 1


def test_the_same_prompt_may_have_the_same_answer() -> None:
    assert found("duplicate_answers", answered(lambda _: LONG, example=lambda _: "one").measured()) == ()


def test_short_answers_may_be_shared_and_show_nothing() -> None:
    measured = answered(lambda _: "yes").measured()
    assert found("duplicate_answers", measured) == ()
    assert blind("duplicate_answers", measured) is not None
