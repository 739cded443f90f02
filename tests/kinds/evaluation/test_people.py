"""Do records of ratings show agreement, strengths, position, a winner, and what an automatic score is worth, as worked out elsewhere?"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.people import people_words
from fireassay.metrics.metric import ALL
from fireassay.metrics.results import LazyResults
from fireassay.stats.people.agreement import Table, alpha
from tests.kinds.evaluation.rated import likert, pairs, record

pytestmark = pytest.mark.slow


def value(measured: RecordData, metric: str, configuration: str) -> Value:
    return LazyResults(measured)[metric][configuration]


def estimate(measured: RecordData, metric: str, configuration: str) -> Estimate:
    found = value(measured, metric, configuration)
    assert isinstance(found, Estimate), found
    return found


def test_agreement_of_each_side_is_alpha_of_its_ratings(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    values = np.clip(np.round(3 + rng.normal(0, 1, (2, 30, 1)) + rng.normal(0, 0.6, (2, 30, 4))), 1, 5)
    measured = record(tmp_path, likert(values), "ab", "long")
    for side, name in enumerate(("answers=a", "answers=b")):
        items, raters = np.indices(values[side].shape)
        theirs = alpha(Table.of(values[side].ravel(), items.ravel(), raters.ravel()), "ordinal", 0.95)
        found = estimate(measured, "agreement", name)
        assert (found.value, found.low, found.high) == pytest.approx((theirs.interval.value, theirs.interval.low, theirs.interval.high))
    assert isinstance(value(measured, "weighted_kappa", "answers=a"), Estimate)


def test_of_one_rater_agreement_is_unknown_and_the_reader_is_told_what_the_intervals_hold_for(tmp_path: Path) -> None:
    measured = record(tmp_path, likert(np.tile([[[1.0], [2.0], [4.0]]], (2, 1, 1))), "ab", "long")
    assert isinstance(value(measured, "agreement", "answers=a"), Absent)
    assert "no sample of raters" in people_words(measured)


def test_two_sides_without_ties_have_the_log_odds_of_winning_and_of_being_first(tmp_path: Path) -> None:
    """b wins 30 of 40 shown first and 20 of 40 shown second: logits log 3 and 0, so strength and position are each half of log 3."""
    first_wins = {True: 20, False: 30}  # of 40 choices each, by whether a is first

    def choice(item: int, rater: int, a_first: bool) -> str:
        number = item // 2
        return "first" if number < first_wins[a_first] else "second"

    measured = record(tmp_path, pairs(80, 1, choice), "ab", "pairs")
    # a first: a wins 20 of 40; b first: b wins 30 of 40
    found = LazyResults(measured)
    assert isinstance(found["strength"]["answers=b"], Absent)  # one rater carries no interval
    measured = record(
        tmp_path / "more",
        pairs(80, 3, lambda item, rater, first: choice(item - item % 2 + (0 if first else 1), rater, first)),
        "ab",
        "pairs",
    )
    found = LazyResults(measured)
    strength, position = found["strength"]["answers=b"], found["position_effect"][ALL]
    assert isinstance(strength, Estimate)
    assert isinstance(position, Estimate)
    assert (strength.value, position.value) == pytest.approx((math.log(3) / 2, math.log(3) / 2), abs=1e-6)


def test_a_side_that_always_wins_has_no_finite_strength(tmp_path: Path) -> None:
    measured = record(tmp_path, pairs(20, 2, lambda _, __, a_first: "second" if a_first else "first"), "ab", "pairs")
    found = value(measured, "strength", "answers=b")
    assert isinstance(found, Absent)
    assert "infinite" in found.detail
    assert estimate(measured, "win_rate", "answers=b").value == 1.0
    assert "stop: b wins over a" in people_words(measured)


def test_equal_sides_go_on(tmp_path: Path) -> None:
    measured = record(tmp_path, pairs(20, 2, lambda item, rater, _: ("first", "second", "tie")[(item + rater) % 3]), "ab", "pairs")
    assert "go on: b against a is open" in people_words(measured)


def test_an_automatic_score_is_held_against_the_mean_ratings(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    people = rng.integers(1, 6, (2, 15, 3)).astype(float)
    scores = people.mean(axis=2) / 5 + rng.normal(0, 0.1, (2, 15))
    lines = likert(people).splitlines()
    body = [f"{line},{scores['ab'.index(line.split(',')[1]), int(line.split(',')[0][1:])]:.9f}" for line in lines[1:]]
    measured = record(tmp_path, "\n".join([f"{lines[0]},clip", *body, ""]), "ab", "long", automatic=["clip"])
    theirs = stats.kendalltau(people.mean(axis=2).ravel(), scores.ravel(), variant="b").statistic
    assert estimate(measured, "clip_kendall_b", ALL).value == pytest.approx(theirs)
    assert estimate(measured, "clip_tie_accuracy", ALL).value > 0.5
