"""Are ratings decided with raters and items both as samples, paired by item and rater?"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fireassay.estimates.estimate import Absent
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.gates import status_of
from fireassay.kinds.evaluation.held import Held, held
from fireassay.kinds.evaluation.metrics import score_of
from fireassay.stats.people.crossed_raters import Ratings, crossed_mean
from tests.kinds.evaluation.rated import likert, pairs, record

pytestmark = pytest.mark.slow


def decided(measured: RecordData) -> Held:
    (found,) = held(measured, "answers=b")
    return found


def drawn(change: float, raters: int = 6, items: int = 40, seed: int = 0, taste: float = 0.1) -> np.ndarray:
    """Ratings of both sides by raters who differ in level, and a little in what they think of b; not rounded, so that truth is exact."""
    rng = np.random.default_rng(seed)
    both = 3 + rng.normal(0, 0.3, (1, items, 1)) + rng.normal(0, 0.3, (1, 1, raters))
    values = both + rng.normal(0, 0.2, (2, items, raters))
    values[1] += change + rng.normal(0, taste, (1, raters))
    return np.clip(values, 1, 5)


def test_a_mean_has_the_interval_of_crossed_raters_and_items(tmp_path: Path) -> None:
    values = drawn(0.0)
    measured = record(tmp_path, likert(values), "ab", "long")
    items, raters = np.indices(values[1].shape)
    given = np.array([float(f"{value:g}") for value in values[1].ravel()])
    theirs = crossed_mean(Ratings.of(given, items.ravel().tolist(), raters.ravel().tolist())).interval(0.95)
    found = score_of(measured, "answers=b", "likert")
    assert not isinstance(found, Absent)
    assert (found.value, found.low, found.high) == pytest.approx((theirs.value, theirs.low, theirs.high))
    assert "6 raters" in found.method


@pytest.mark.parametrize(("change", "status"), [(0.0, "PASS"), (-0.9, "FAIL"), (-0.3, "INCONCLUSIVE")])
def test_quality_is_held_within_a_margin_on_the_ratings(change: float, status: str, tmp_path: Path) -> None:
    values = drawn(change)
    measured = record(tmp_path, likert(values), "ab", "long", margin=0.3)
    found = decided(measured)
    assert status_of(found) == status
    assert found.raters == 6
    difference = np.array([float(f"{value:g}") for value in values.ravel()]).reshape(values.shape)
    items, raters = np.indices(values[1].shape)
    theirs = crossed_mean(Ratings.of((difference[1] - difference[0]).ravel(), items.ravel().tolist(), raters.ravel().tolist()))
    assert not isinstance(found.decision, Absent)
    assert (found.decision.low, found.decision.high) == pytest.approx((theirs.lower(0.95), theirs.upper(0.95)))
    assert found.tested is None  # the paired t-test knows no raters


def test_raters_who_differ_cannot_be_outweighed_by_items(tmp_path: Path) -> None:
    from fireassay.kinds.evaluation.gates import more_items

    values = drawn(0.0, raters=3, items=200, taste=0.0)
    values[1] += np.array([-0.4, 0.0, 0.4])
    measured = record(tmp_path, likert(values), "ab", "long", margin=0.2)
    found = decided(measured)
    assert status_of(found) == "INCONCLUSIVE"
    assert "more raters are needed" in more_items(found, 0.2)


def test_sides_that_no_rater_rated_both_are_not_decided(tmp_path: Path) -> None:
    values = drawn(0.0)
    values[0, :, :3], values[1, :, 3:] = np.nan, np.nan
    text = "".join(line for line in likert(values).splitlines(keepends=True) if not line.endswith(",\n"))
    found = decided(record(tmp_path, text, "ab", "long", margin=0.3))
    assert isinstance(found.decision, Absent)
    assert "no rater rated both sides" in found.decision.detail


@pytest.mark.parametrize(("tied", "status"), [(True, "PASS"), (False, "FAIL")])
def test_quality_is_held_within_a_margin_on_the_win_rate(tied: bool, status: str, tmp_path: Path) -> None:
    def choice(item: int, rater: int, a_first: bool) -> str:
        if tied:
            return ("first", "second", "tie", "tie")[(item // 2 + rater) % 4]
        return "first" if a_first else ("second" if (item + rater) % 5 else "first")

    measured = record(tmp_path, pairs(120, 4, choice), "ab", "pairs", margin=0.15)
    assert status_of(decided(measured)) == status
    found = score_of(measured, "answers=b", "win_rate")
    assert not isinstance(found, Absent)
    assert found.value == pytest.approx(0.5 if tied else 0.1, abs=0.03)


def test_missing_ratings_are_counted_and_not_low(tmp_path: Path) -> None:
    values = drawn(0.0)
    values[1, :2, :] = np.nan
    found = score_of(record(tmp_path, likert(values), "ab", "long"), "answers=b", "likert")
    assert not isinstance(found, Absent)
    assert found.n_trials == 38
