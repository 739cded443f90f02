"""Does a decision count only if it survives the items that are missing?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from fireassay.estimates.estimate import Absent
from fireassay.kinds.evaluation.gates import HELD
from fireassay.kinds.evaluation.held import Held, held, held_between
from fireassay.stats.comparing.noninferiority import Decision, flips_lower
from tests.answered import rows, scored

Answers = Sequence[str | None]


def decided(folder: Path, a: Answers, b: Answers, margin: float) -> Held:
    (found,) = held(scored(folder, {"a": rows(a), "b": rows(b)}, margin=margin, most_failed=0.5), "answers=b")
    return found


def test_held_survives_a_few_missing_items_and_reports_both(tmp_path: Path) -> None:
    """400 items without a flip show 2 points; with 2 of them lost they still do: the bound of 2 flips, all lost."""
    found = decided(tmp_path, ["yes"] * 380 + ["no"] * 20, [None, None, *["yes"] * 378, *["no"] * 20], margin=0.02)
    assert not isinstance(found.decision, Absent)
    assert not isinstance(found.opposed, Absent)
    assert found.opposed is not None
    assert (found.decision.verdict, found.decision.items) == ("HELD", 398)
    assert (found.opposed.verdict, found.opposed.items) == ("HELD", 400)
    assert found.opposed.estimate == pytest.approx(-2 / 400)
    assert found.opposed.low == pytest.approx(flips_lower(2, 0, 400, 0.95), abs=1e-9)
    assert (found.missing, found.overturned) == (2, "")


@pytest.mark.parametrize("side", ["a", "b"])
def test_held_that_missing_items_could_undo_is_undecided(side: str, tmp_path: Path) -> None:
    """The candidate's 20 missing items count as wrong, or the reference's as right: 5 points, of a margin of 2."""
    whole, holed = ["yes"] * 200 + ["no"] * 200, [*[None] * 20, *["yes"] * 180, *["no"] * 200]
    a, b = (holed, ["no"] * 20 + whole[20:]) if side == "a" else (whole, holed)
    measured = scored(tmp_path, {"a": rows(a), "b": rows(b)}, margin=0.02, most_failed=0.5)
    (found,) = held(measured, "answers=b")
    assert not isinstance(found.decision, Absent)
    assert not isinstance(found.opposed, Absent)
    assert found.opposed is not None
    assert found.decision.verdict == "INCONCLUSIVE"
    assert found.opposed.estimate == pytest.approx(-20 / 400)
    assert found.decision.items_needed is None  # more items do not bring the missing ones back
    (result,) = HELD.check(measured, {})
    assert result.status == "INCONCLUSIVE"
    assert "held only if the 20 missing items do not matter; with the 20 items missing against it −5.0 points" in result.sentence


def test_degraded_that_missing_items_could_undo_is_undecided(tmp_path: Path) -> None:
    """30 of 400 lost is more than 2 points, but 60 missing items may all have been won."""
    a: Answers = ["yes"] * 200 + ["no"] * 200
    b: Answers = [*["no"] * 30, *["yes"] * 170, *["no"] * 140, *[None] * 60]
    found = decided(tmp_path, a, b, margin=0.02)
    assert not isinstance(found.decision, Absent)
    assert found.decision.verdict == "INCONCLUSIVE"
    assert found.overturned.startswith("degraded only if")


def test_degraded_beyond_all_missing_items_stays_degraded(tmp_path: Path) -> None:
    a: Answers = ["yes"] * 300 + ["no"] * 100
    found = decided(tmp_path, a, [*["no"] * 100, *["yes"] * 200, *["no"] * 99, None], margin=0.02)
    assert not isinstance(found.decision, Absent)
    assert (found.decision.verdict, found.overturned, found.missing) == ("DEGRADED", "", 1)


def test_an_item_that_failed_on_both_sides_counts_against_the_candidate(tmp_path: Path) -> None:
    a: Answers = [None, *["yes"] * 350, *["no"] * 49]
    found = decided(tmp_path, a, list(a), margin=0.02)
    assert not isinstance(found.opposed, Absent)
    assert found.opposed is not None
    assert (found.missing, found.opposed.items) == (1, 400)
    assert found.opposed.estimate == pytest.approx(-1 / 400)


def test_nothing_missing_is_decided_once(tmp_path: Path) -> None:
    a: Answers = ["yes"] * 350 + ["no"] * 50
    found = decided(tmp_path, a, list(a), margin=0.02)
    assert (found.missing, found.opposed, found.overturned) == (0, None, "")


TEXT, NEAR = "the cat sat on the mat all day", "the cat sat on the rug all day"


def of_texts(folder: Path, a: Answers, b: Answers) -> Held:
    """Decided by BLEU, at 2 points."""
    pytest.importorskip("sacrebleu")
    sides = {"a": rows(a, TEXT), "b": rows(b, TEXT)}
    (found,) = held(scored(folder, sides, margin=2.0, most_failed=0.5, metrics=["bleu"]), "answers=b")
    assert not isinstance(found.decision, Absent)
    return found


@pytest.mark.parametrize(("lost", "verdict"), [(1, "HELD"), (10, "INCONCLUSIVE")])
def test_a_missing_text_counts_as_one_without_a_word_in_common(tmp_path: Path, lost: int, verdict: str) -> None:
    """BLEU is no mean of item scores; 300 equal texts show 2 points, also if one of them was lost, but not if ten were."""
    found = of_texts(tmp_path, [NEAR] * 300, [*[None] * lost, *[NEAR] * (300 - lost)])
    assert found.decision.verdict == verdict  # type: ignore[union-attr]
    assert isinstance(found.opposed, Decision)
    assert (found.missing, found.opposed.items) == (lost, 300)
    assert found.opposed.estimate < found.decision.estimate  # type: ignore[union-attr]


def test_a_text_missing_at_the_reference_cannot_be_bounded(tmp_path: Path) -> None:
    """How much better than the candidate's it may have been is unknown."""
    found = of_texts(tmp_path, [None, *[NEAR] * 299], [NEAR] * 300)
    assert isinstance(found.opposed, Absent)
    assert found.opposed.detail == "BLEU has no worst score"


@pytest.mark.parametrize("side", ["a", "b"])
def test_missing_items_undo_held_of_two_records_too(side: str, tmp_path: Path) -> None:
    """As within one record: the same sides, each in a record of its own."""
    whole, holed = ["yes"] * 200 + ["no"] * 200, [*[None] * 20, *["yes"] * 180, *["no"] * 200]
    sides = {"a": holed, "b": ["no"] * 20 + whole[20:]} if side == "a" else {"a": whole, "b": holed}
    together = scored(tmp_path / "one", {name: rows(answers) for name, answers in sides.items()}, margin=0.02, most_failed=0.5)
    before, after = (scored(tmp_path / name, {name: rows(answers)}, margin=0.02, most_failed=0.5) for name, answers in sides.items())
    quality = together.experiment.quality
    assert quality is not None
    assert held_between((before, "answers=a"), (after, "answers=b"), quality, 0.95) == held(together, "answers=b")
