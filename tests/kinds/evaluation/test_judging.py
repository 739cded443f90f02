"""Does an evaluation say held, degraded or undecided as its items show, and never count a failure as wrong?"""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.estimates.estimate import Estimate
from fireassay.exit_codes import EXIT_OF_STATUS
from fireassay.kinds.evaluation.evaluation_rows import rows as evaluation_rows
from fireassay.verdict.judge import judge
from tests.answered import choices, rows, scored, with_margin
from tests.verdict.judging import Asked


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
    judgement = Asked(scored(tmp_path, sides(right, of, lost, won), margin=margin))
    assert judgement.verdict.status == status
    assert f"{lost} items worse and {won} better of {of}" in judgement.verdict.gates[0].sentence


def test_a_score_without_a_margin_is_measured_with_its_interval(tmp_path: Path) -> None:
    judgement = Asked(scored(tmp_path, {"a": rows(["yes"] * 80 + ["no"] * 20)}))
    assert judgement.verdict.status == "MEASURED"
    assert judgement.verdict.gates == ()
    assert judgement.verdict.sentence == "answers: Exact match 0.800 [0.711, 0.867] over 100 items."


def test_the_change_of_every_side_is_told_without_a_margin_too(tmp_path: Path) -> None:
    """Equal, −1.3 and −5.0 points of 1,319 items, by flips in both directions."""
    reference = ["yes"] * 939 + ["no"] * 380

    def flipped(worse: int, better: int) -> list[dict[str, object]]:
        return rows(["no"] * worse + ["yes"] * (939 - worse + better) + ["no"] * (380 - better))

    answers = {"bf16": rows(reference), "equal": flipped(20, 20), "near": flipped(46, 29), "int8": flipped(88, 22)}
    measured = scored(tmp_path, answers)
    verdict = Asked(measured).verdict
    assert (verdict.status, verdict.gates) == ("MEASURED", ())
    for told in (
        "int8 against bf16: Exact match −5.0 points [−6.7, −3.5]",
        "near against bf16: Exact match −1.3 points [−2.7, −0.0020]",
        "88 items worse and 22 better of 1,319",
        "equal against bf16: Exact match 0.00 points [−0.99, 0.99]",
    ):
        assert told in verdict.sentence
    limited = Asked(with_margin(measured, 0.02)).verdict
    assert EXIT_OF_STATUS[limited.status] == 1  # one side is degraded, though another is held
    assert {gate.configuration: gate.status for gate in limited.gates} == {
        "answers=equal": "PASS",
        "answers=near": "INCONCLUSIVE",
        "answers=int8": "FAIL",
    }


def test_missing_answers_are_no_wrong_answers_and_too_many_are_invalid(tmp_path: Path) -> None:
    """lm-eval calls 23 empty replies of 40 a score of .425, with exit code 0."""
    answers = [None] * 23 + ["yes"] * 17
    judgement = Asked(scored(tmp_path, {"a": rows(answers)}))
    assert judgement.verdict.status == "INVALID"
    (finding,) = [found for found in judgement.verdict.findings if found.severity == "invalid"]
    assert finding.rule == "unanswered_items"
    assert "23 of 40 items were not answered (23 missing)" in finding.evidence
    assert "Exact match lies between 0.425 and 1.000 whatever they were" in finding.evidence


def test_times_that_nobody_took_are_not_measured(tmp_path: Path) -> None:
    vector = Asked(scored(tmp_path, {"a": rows(["yes", "no"])})).verdict.dimensions["answers=a"]
    assert vector["performance"].status == vector["cost"].status == "NOT_MEASURED"


def test_calibration_and_pass_at_k_are_judged_of_our_own_records_too(tmp_path: Path) -> None:
    results = judge(choices(tmp_path, {"a": [(0.9, index < 60) for index in range(100)]})).results
    assert {"calibration_error", "brier_score"} <= set(results)
    assert isinstance(results["calibration_error"]["answers=a"], Estimate)


def test_without_a_margin_the_change_has_a_two_sided_interval_and_with_one_its_bounds_are_named(tmp_path: Path) -> None:
    """88 worse and 22 better of 1,319, d = −0.0500: Wald at z = 1.960 gives −0.0656 to −0.0345, at z = 1.645 −0.0631 to −0.0370; Tango's are 0.0006 lower."""
    sides = {"a": rows(["yes"] * 939 + ["no"] * 380), "b": rows(["no"] * 88 + ["yes"] * 873 + ["no"] * 358)}
    alone = scored(tmp_path, sides)
    for margin, confidence, low, high in ((None, 0.95, -0.0656, -0.0345), (0.02, 0.90, -0.0631, -0.0370)):
        measured = alone if margin is None else with_margin(alone, margin)
        (row,) = evaluation_rows(measured, {name: name for name in measured.configurations}).held
        assert isinstance(row.change, Estimate)
        assert row.change.confidence == pytest.approx(confidence)
        assert (row.change.low, row.change.high) == pytest.approx((low, high), abs=8e-4)
        assert ("one-sided" in row.change.method, "one-sided bounds" in row.sentence) == (margin is not None,) * 2
