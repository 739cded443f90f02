"""Are a budget that an engine ignores, and samples that are copies, found?"""

from __future__ import annotations

import pytest

from fireassay.kinds.evaluation.audits.steps import examine_budget, examine_floor, examine_left, examine_samples
from fireassay.verdict.judge import judge
from tests.steps_made import Answer, stepped

RIGHT: Answer = ("7", 1.0)
BUDGETS = {"levels": (64, 256), "what": "reasoning_tokens", "field": "thinking.budget_tokens"}


def test_reasoning_that_does_not_grow_makes_the_record_invalid() -> None:
    measured = stepped(BUDGETS, [[RIGHT, RIGHT]] * 20, reasoning=lambda item, place: 50 + (item + place) % 2)
    (finding,) = examine_budget(measured, {})
    assert (finding.severity, finding.configuration) == ("invalid", "engine=a reasoning_tokens=256")
    assert "reasoning tokens do not grow with the budget: 50.5 an item at 64, 50.5 at 256" in finding.evidence
    assert "thinking.budget_tokens" in finding.remedy
    assert judge(measured).verdict.status == "INVALID"


def test_reasoning_that_grows_is_no_finding() -> None:
    measured = stepped(BUDGETS, [[RIGHT, RIGHT]] * 20, reasoning=lambda item, place: 8 + 24 * place + item % 3)
    assert list(examine_budget(measured, {})) == []


def test_output_tokens_stand_in_where_no_reasoning_is_reported() -> None:
    (finding,) = examine_budget(stepped(BUDGETS, [[RIGHT, RIGHT]] * 20), {})
    assert finding.evidence.startswith("output tokens do not grow with the budget: 4 an item at 64, 4 at 256")
    assert list(examine_budget(stepped(BUDGETS, [[RIGHT, RIGHT]] * 20, tokens_out=lambda _, place: 4 + place), {})) == []


def test_without_tokens_nothing_is_known_of_the_budget() -> None:
    (finding,) = examine_budget(stepped(BUDGETS, [[RIGHT, RIGHT]] * 20, tokens_out=lambda *_: None), {})
    assert finding.severity == "warning"
    assert "is not known" in finding.evidence


@pytest.mark.parametrize(("same", "found"), [(20, 1), (18, 1), (17, 0)])
def test_samples_that_are_copies_are_told_from_nine_items_in_ten(same: int, found: int) -> None:
    answers: list[list[Answer]] = [[RIGHT, RIGHT if item < same else ("8", 0.0), RIGHT] for item in range(20)]
    findings = list(examine_samples(stepped({"levels": (1, 3)}, answers), {}))
    assert len(findings) == found
    if findings:
        assert f"all samples of {same} of 20 items are the same text" in findings[0].evidence


def test_items_left_out_of_a_curve_are_told() -> None:
    """One of 240 answers failed: its item is in no vote. Of earlier turns three of 60 failed: more than a hundredth, though the last all came."""
    answers: list[list[Answer]] = [[RIGHT, RIGHT, None if item == 0 else RIGHT] for item in range(80)]
    (finding,) = examine_left(stepped({"levels": (1, 3)}, answers), {})
    assert (finding.severity, finding.evidence.partition(",")[0]) == (
        "warning",
        "1 of 80 items lack an answer or a score at some number of steps",
    )
    turns: list[list[Answer]] = [[None if item < 3 else RIGHT, RIGHT] for item in range(30)]
    (finding,) = examine_left(stepped({"levels": (1, 2), "what": "turns"}, turns), {})
    assert finding.severity == "invalid"
    assert "3 of 60 answers were never given" in finding.evidence
    assert list(examine_left(stepped({"levels": (1, 2)}, [[RIGHT, RIGHT]] * 5), {})) == []


def test_steps_none_of_which_solves_an_item_have_no_knee() -> None:
    """Two of 100 items right lead nothing right by two points, the margin; three lead by more."""
    wrong: Answer = ("8", 0.0)
    answers: list[list[Answer]] = [[wrong, RIGHT if item < 2 else wrong] for item in range(100)]
    (finding,) = examine_floor(stepped({"levels": (1, 2), "what": "turns"}, answers), {})
    assert finding.severity == "invalid"
    assert "the best number of steps, 2, has 0.02, within the margin of 0.02 of nothing right, 0" in finding.evidence
    answers[2] = [wrong, RIGHT]
    assert list(examine_floor(stepped({"levels": (1, 2), "what": "turns"}, answers), {})) == []
