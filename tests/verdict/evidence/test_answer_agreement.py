"""The grades of agreement, each worked out by hand on two answers of a few tokens."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from fireassay.verdict.evidence.answer_agreement import agreements
from tests.serving_made import ServingMade

TOKENS = ("the ", "cat ", "sat ", "down")
SURE = (-0.1, -0.2, -0.3, -0.4)


def asked_twice(
    first: Sequence[str], second: Sequence[str], ours: Sequence[float] = (), theirs: Sequence[float] = (), *, kind: str = "identity"
) -> ServingMade:
    made = ServingMade(rate=(1.0,), blocks=1)
    launch = made.launch()
    for place, (tokens, logprobs) in enumerate(((first, ours), (second, theirs))):
        made.request(
            launch,
            float(place),
            kind=kind if place == 0 else "rerun",
            example="7",
            text="".join(tokens),
            tokens_out=len(tokens),
            chars=[len(token) for token in tokens],
            logprobs=logprobs,
            replica=place,
        )
    return made


def grade(made: ServingMade) -> tuple[str, str]:
    (found,) = agreements(made.measured()).values()
    return found.shown, found.possible


def test_answers_without_any_text_have_no_grade() -> None:
    assert agreements(asked_twice(("",), (" ",)).measured()) == {}
    assert grade(asked_twice(("",), TOKENS))[0] == "fail"


def test_equal_text_and_equal_probabilities_are_bitwise() -> None:
    assert grade(asked_twice(TOKENS, TOKENS, SURE, SURE)) == ("bitwise", "bitwise")


def test_equal_text_with_other_probabilities_is_token_identical() -> None:
    assert grade(asked_twice(TOKENS, TOKENS, SURE, (-0.1, -0.2, -0.3, -0.4001))) == ("token_identical", "token_identical")


def test_equal_text_alone_may_be_bitwise() -> None:
    assert grade(asked_twice(TOKENS, TOKENS)) == ("token_identical", "bitwise")


OTHER = ("the ", "cat ", "ran ", "away")


@pytest.mark.parametrize(
    ("theirs", "expected"),
    [
        ((-0.11, -0.2, -0.319, -0.4), "near_tie"),  # before the third: .01 apart; there .019, not more than twice that
        ((-0.11, -0.2, -0.33, -0.4), "distribution_close"),  # .03 is more
        ((-0.19, -0.2, -0.7, -0.4), "distribution_close"),  # .09 before, .4 there
        ((-0.3, -0.2, -0.9, -0.4), "fail"),  # .2 before
    ],
)
def test_where_texts_part_the_probabilities_decide(theirs: tuple[float, ...], expected: str) -> None:
    assert grade(asked_twice(TOKENS, OTHER, SURE, theirs)) == (expected, expected)


def test_a_first_token_that_differs_has_nothing_before_it() -> None:
    assert grade(asked_twice(TOKENS, ("a ", "dog "), SURE, (-0.1, -0.2))) == ("fail", "fail")


def test_texts_that_differ_without_probabilities_may_be_a_near_tie_or_a_failure() -> None:
    assert grade(asked_twice(TOKENS, OTHER)) == ("fail", "near_tie")


def test_chunks_that_are_no_tokens_give_no_place() -> None:
    made = asked_twice(("the cat ", "sat down"), OTHER, SURE, SURE)
    assert grade(made) == ("fail", "near_tie")


def test_the_worst_pair_gives_the_grade_and_is_named() -> None:
    made = asked_twice(TOKENS, TOKENS)
    made.request(0, 2.0, kind="rerun", example="7", text="the dog", replica=1)
    (found,) = agreements(made.measured()).values()
    assert (found.shown, found.possible, found.prompts, found.answers, found.differing) == ("fail", "near_tie", 1, 3, 1)
    assert found.where == "example 7 of launch 0, replica 1, after 4 characters"


def test_only_prompts_of_the_identity_check_are_compared() -> None:
    made = ServingMade(rate=(1.0,), blocks=1)
    launch = made.launch()
    for place in range(2):
        made.request(launch, float(place), example="7", text=f"answer {place}")
    assert agreements(made.measured()) == {}


def test_answers_of_several_launches_are_not_held_against_each_other() -> None:
    made = ServingMade(rate=(1.0,), blocks=2)
    for block in range(2):
        launch = made.launch(block=block)
        for place in range(2):
            made.request(launch, float(place), kind="identity", example="7", text=f"of round {block}")
    (found,) = agreements(made.measured()).values()
    assert (found.shown, found.prompts, found.differing) == ("token_identical", 2, 0)
