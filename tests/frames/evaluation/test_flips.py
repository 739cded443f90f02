"""Are flips counted answer by answer, and those of the reference against itself beside them?"""

from __future__ import annotations

from pathlib import Path

import pytest
from scipy.stats import beta

from fireassay.frames.evaluation.flipped import Flips, flipped, flips
from fireassay.frames.record_data import RecordData
from tests.answered import rows, scored


def of(measured: RecordData, configuration: str) -> Flips:
    found = flips(measured, configuration, "answers", "exact_match")
    assert found is not None
    return found


def repeated(*answers: str) -> list[dict[str, object]]:
    """A line for each letter of an item's answers: y is right."""
    return [
        {"id": index, "answer": "yes" if letter == "y" else "no", "reference": "yes"}
        for index, letters in enumerate(answers)
        for letter in letters
    ]


def test_of_single_answers_they_are_the_items_that_changed_with_clopper_and_pearsons_bounds(tmp_path: Path) -> None:
    measured = scored(tmp_path, {"a": rows(["yes"] * 100), "b": rows(["no"] * 4 + ["yes"] * 96)})
    found = of(measured, "answers=b")
    assert found.share == pytest.approx(0.04)
    value = found.estimate(0.95)
    assert (value.low, value.high) == pytest.approx((beta.ppf(0.05, 4, 97), beta.ppf(0.95, 5, 96)), abs=1e-6)
    assert flips(measured, "answers=a", "answers", "exact_match") is None, "the reference was asked once"


@pytest.fixture(scope="module")
def asked_twice(tmp_path_factory: pytest.TempPathFactory) -> RecordData:
    sides = {"a": repeated("yy", "yn", "nn", "yyn"), "b": repeated("y", "y", "y", "nn")}
    return scored(tmp_path_factory.mktemp("twice"), sides)


def test_every_answer_stands_beside_every_one_of_the_other_side(asked_twice: RecordData) -> None:
    found = of(asked_twice, "answers=b")
    assert found.shares.tolist() == pytest.approx([0.0, 1 / 2, 1.0, 2 / 3])


def test_the_reference_against_itself_is_counted_over_its_pairs(asked_twice: RecordData) -> None:
    found = of(asked_twice, "answers=a")
    assert found.shares.tolist() == pytest.approx([0.0, 1.0, 0.0, 2 / 3])
    assert found.share == pytest.approx(5 / 12)


def test_an_item_without_a_score_is_no_flip(tmp_path: Path) -> None:
    measured = scored(tmp_path, {"a": rows(["yes", "yes", None]), "b": rows(["yes", None, "yes"])}, most_failed=0.9)
    found = of(measured, "answers=b")
    assert found.shares.tolist() == [0.0]


def test_by_majority_an_item_has_one_answer_of_each_side(tmp_path: Path) -> None:
    """Item by item yy|y, yyn|ynn: one of two changed, though most pairs of answers of the second differ."""
    measured = scored(tmp_path, {"a": repeated("yy", "yyn"), "b": repeated("yyn", "ynn")}, majority=True)
    assert of(measured, "answers=b").shares.tolist() == [0.0, 1.0]
    assert flips(measured, "answers=a", "answers", "exact_match") is None, "a majority has no second answer"
    (flip,) = flipped((measured, "answers=a"), (measured, "answers=b"), "b")
    assert (flip.before, flip.after) == ("yes", "no")
