"""Does an evaluation say held, degraded or undecided as its items show, and never count a failure as wrong?"""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.estimates.estimate import Estimate
from fireassay.verdict.judge import judge
from tests.answered import choices, rows, scored


def sides(right: int, of: int, lost: int, won: int = 0) -> dict[str, list[dict[str, object]]]:
    """A reference with so many right, and a candidate that loses some of them and wins some others."""
    reference = ["yes"] * right + ["no"] * (of - right)
    candidate = ["no"] * lost + ["yes"] * (right - lost) + ["yes"] * won + ["no"] * (of - right - won)
    return {"a": rows(reference), "b": rows(candidate)}


@pytest.mark.parametrize(
    ("right", "of", "lost", "won", "margin", "status"),
    [
        (300, 400, 0, 0, 0.02, "PASS"),  # 149 items without a flip show 2 points
        (80, 100, 0, 0, 0.02, "INCONCLUSIVE"),
        (300, 400, 80, 0, 0.02, "FAIL"),
        (300, 400, 8, 8, 0.01, "INCONCLUSIVE"),
    ],
)
def test_quality_is_held_only_if_the_items_show_it(
    right: int, of: int, lost: int, won: int, margin: float, status: str, tmp_path: Path
) -> None:
    judgement = judge(scored(tmp_path, sides(right, of, lost, won), margin=margin))
    assert judgement.verdict.status == status
    assert f"{lost} items worse and {won} better of {of}" in judgement.verdict.gates[0].sentence


def test_a_score_without_a_margin_is_measured_with_its_interval(tmp_path: Path) -> None:
    judgement = judge(scored(tmp_path, {"a": rows(["yes"] * 80 + ["no"] * 20)}))
    assert judgement.verdict.status == "MEASURED"
    assert judgement.verdict.gates == ()
    assert judgement.verdict.sentence == "answers: Exact match 0.800 [0.711, 0.867] over 100 items."


def test_missing_answers_are_no_wrong_answers_and_too_many_are_invalid(tmp_path: Path) -> None:
    """lm-eval calls 23 empty replies of 40 a score of .425, with exit code 0."""
    answers = [None] * 23 + ["yes"] * 17
    judgement = judge(scored(tmp_path, {"a": rows(answers)}))
    assert judgement.verdict.status == "INVALID"
    (finding,) = [found for found in judgement.verdict.findings if found.severity == "invalid"]
    assert finding.rule == "unanswered_items"
    assert "23 of 40 items were not answered (23 missing)" in finding.evidence
    assert "Exact match lies between 0.425 and 1.000 whatever they were" in finding.evidence


def test_times_that_nobody_took_are_not_measured(tmp_path: Path) -> None:
    vector = judge(scored(tmp_path, {"a": rows(["yes", "no"])})).verdict.dimensions["answers=a"]
    assert vector["performance"].status == vector["cost"].status == "NOT_MEASURED"


def test_calibration_and_pass_at_k_are_judged_of_our_own_records_too(tmp_path: Path) -> None:
    results = judge(choices(tmp_path, {"a": [(0.9, index < 60) for index in range(100)]})).results
    assert {"calibration_error", "brier_score"} <= set(results)
    assert isinstance(results["calibration_error"]["answers=a"], Estimate)
