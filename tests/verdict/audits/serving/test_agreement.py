"""agreement: the grade asked for against the grade of the answers."""

from __future__ import annotations

import pytest

from tests.serving_made import ServingMade
from tests.verdict.served import blind, clean, found, rules


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
