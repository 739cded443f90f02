"""Does a reference at chance, or a pair of sides at the ceiling, never count as held?"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fireassay.frames.evaluation.item_scores import item_scores, metric_named, tasks
from fireassay.kinds.evaluation.audits.insensitive_items import AUDIT
from fireassay.kinds.evaluation.gates.held import GATE
from fireassay.kinds.evaluation.sensitivity.chance import Chance, chance_of
from fireassay.verdict.judge import judge
from tests.answered import rows, scored


def pair(folder: Path, right: int, of: int, lost: int = 0, margin: float = 0.02) -> object:
    a = ["yes"] * right + ["no"] * (of - right)
    return scored(folder, {"a": rows(a), "b": rows(["no"] * lost + a[lost:])}, margin=margin)


@pytest.mark.parametrize(
    ("right", "words"), [(0, "is no better than nothing right, 0"), (8, "is within the margin of 0.02 of nothing right")]
)
def test_a_reference_that_gets_nothing_right_is_invalid(right: int, words: str, tmp_path: Path) -> None:
    judgement = judge(pair(tmp_path, right, 400))  # type: ignore[arg-type]
    (finding,) = [found for found in judgement.verdict.findings if found.rule == "insensitive_items"]
    assert judgement.verdict.status == "INVALID"
    assert (finding.severity, finding.configuration) == ("invalid", "answers=a")
    assert words in finding.evidence
    assert judgement.verdict.gates[0].status == "INCONCLUSIVE"  # never held


def test_both_sides_at_the_ceiling_are_undecided(tmp_path: Path) -> None:
    measured = pair(tmp_path, 400, 400)
    (finding,) = AUDIT.examine(measured, {})  # type: ignore[arg-type]
    assert (finding.severity, finding.configuration) == ("warning", "answers=b")
    (result,) = GATE.check(measured, {})  # type: ignore[arg-type]
    assert result.status == "INCONCLUSIVE"
    assert "both sides have the highest Exact match on all 400 items" in result.sentence


@pytest.mark.parametrize(("right", "lost"), [(400, 1), (399, 0), (200, 0), (25, 0)])
def test_items_that_could_show_a_loss_are_left_alone(right: int, lost: int, tmp_path: Path) -> None:
    """One lost item of 400 at the ceiling shows that the items can tell the sides apart; 25 right ones have room for a loss of 3 margins."""
    assert list(AUDIT.examine(pair(tmp_path, right, 400, lost), {})) == []  # type: ignore[arg-type]


def test_a_degraded_candidate_at_the_ceiling_of_its_reference_is_degraded(tmp_path: Path) -> None:
    assert judge(pair(tmp_path, 400, 400, lost=80)).verdict.status == "FAIL"  # type: ignore[arg-type]


def test_without_a_margin_nothing_is_decided_and_nothing_said(tmp_path: Path) -> None:
    assert list(AUDIT.examine(scored(tmp_path, {"a": rows(["no"] * 50), "b": rows(["no"] * 50)}), {})) == []


def test_guessing_among_choices_is_known_from_the_items(tmp_path: Path) -> None:
    """Four choices, one right: 0.25."""
    entry = {"logprob": -1.0, "tokens": 1, "characters": 1, "bytes": 1, "scored_bytes": 1}
    side = [{"id": number, "answer": json.dumps([entry] * 4), "reference": "0"} for number in range(20)]
    measured = scored(tmp_path, {"a": side}, margin=0.02)
    made = replace(item_scores(measured, "answers=a", tasks(measured)[0], "exact_match"), metric=metric_named("acc"))
    assert chance_of(measured, tasks(measured)[0], made) == Chance(value=0.25, guessed=True)


@pytest.mark.parametrize("name", ["mcc", "pearson", "spearman"])
def test_a_correlation_of_nothing_is_0(name: str) -> None:
    assert metric_named(name).chance == 0.0


def test_a_reference_that_is_not_shown_to_beat_guessing_never_held(tmp_path: Path) -> None:
    """80 of 280 leads 0.25 by more than the margin, but Wilson's interval [0.236, 0.341] contains it."""
    side = rows(["yes"] * 80 + ["no"] * 200)
    measured = scored(tmp_path, {"a": side, "b": side}, margin=0.02, chance=0.25)
    assert list(AUDIT.examine(measured, {})) == []
    (result,) = GATE.check(measured, {})
    assert result.status == "INCONCLUSIVE"
    assert "the reference is not shown to be better than guessing, 0.25" in result.sentence


def test_recorded_answers_that_are_all_given_again_are_held(tmp_path: Path) -> None:
    """The references are the reference side's own answers: its score of 1 says nothing of how hard the items are."""
    side = rows(["yes"] * 400)
    measured = scored(tmp_path, {"a": side, "b": side}, margin=0.02, own_references=True)
    assert list(AUDIT.examine(measured, {})) == []
    (result,) = GATE.check(measured, {})
    assert result.status == "PASS"
    assert "against the reference side's own answers" in result.sentence


def test_recorded_answers_that_are_too_few_or_lost_are_not_held(tmp_path: Path) -> None:
    side, lost = rows(["yes"] * 400), rows(["no"] * 40 + ["yes"] * 360)
    for name, sides, status in (("lost", {"a": side, "b": lost}, "FAIL"), ("few", {"a": side[:100], "b": side[:100]}, "INCONCLUSIVE")):
        (result,) = GATE.check(scored(tmp_path / name, sides, margin=0.02, own_references=True), {})
        assert result.status == status
