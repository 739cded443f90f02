"""Is an automatic score held against people as published programs do it?"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from fireassay.stats.people.automatic_score import Correlation, Rated, correlation, of_sides, over_items, tie_accuracy


def rated(people: list[list[float]], score: list[list[float]]) -> Rated:
    """A row for each item, a column for each side."""
    items, sides = np.array(people).shape
    return Rated(
        people=np.array(people, dtype=float).ravel(),
        score=np.array(score, dtype=float).ravel(),
        items=np.repeat(np.arange(items), sides),
        sides=np.tile(np.arange(sides), items),
    )


def brute(data: Rated) -> float:
    """Every epsilon between two differences, every pair: Deutsch, Foster and Freitag 2023, equation 9."""
    best = 0.0
    gaps = {abs(float(a - b)) for a in data.score for b in data.score} | {0.0}
    for epsilon in gaps:
        right = total = 0
        for a in range(len(data.items)):
            for b in range(a + 1, len(data.items)):
                if data.items[a] == data.items[b]:
                    gap, truth = float(data.score[a] - data.score[b]), float(data.people[a] - data.people[b])
                    said = 0.0 if abs(gap) <= epsilon else math.copysign(1.0, gap)
                    right += said == (0.0 if truth == 0.0 else math.copysign(1.0, truth))
                    total += 1
        best = max(best, right / total)
    return best


def test_ties_are_calibrated_by_hand() -> None:
    data = rated([[1, 2, 2], [3, 1, 1]], [[0.1, 0.3, 0.35], [0.2, 0.5, 0.6]])
    value, epsilon = tie_accuracy(data)
    assert value == pytest.approx(4 / 6)  # item 1 in order, both ties found, item 2 the wrong way round
    assert epsilon == pytest.approx(0.1)


@pytest.mark.parametrize("seed", range(5))
def test_the_best_threshold_is_that_of_all_of_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = rated(rng.integers(1, 4, (6, 4)).tolist(), np.round(rng.random((6, 4)), 1).tolist())
    assert tie_accuracy(data)[0] == pytest.approx(brute(data))


@pytest.mark.parametrize("which", ["kendall_b", "kendall_c", "spearman", "pearson"])
def test_correlations_are_those_of_scipy(which: Correlation) -> None:
    rng = np.random.default_rng(1)
    people, score = rng.integers(1, 6, 50).astype(float), rng.random(50)
    theirs = {
        "kendall_b": stats.kendalltau(people, score, variant="b"),
        "kendall_c": stats.kendalltau(people, score, variant="c"),
        "spearman": stats.spearmanr(people, score),
        "pearson": stats.pearsonr(people, score),
    }[which].statistic
    assert correlation(people, score, which) == pytest.approx(theirs)


def test_constant_scores_and_two_sides_have_no_correlation() -> None:
    assert math.isnan(correlation(np.ones(5), np.arange(5.0), "pearson"))
    assert math.isnan(of_sides(rated([[1, 2]], [[1, 2]]), "pearson"))
    assert of_sides(rated([[1, 2, 3]], [[1, 2, 3]]), "pearson") == pytest.approx(1.0)


def test_the_interval_is_the_jackknife_over_items() -> None:
    rng = np.random.default_rng(2)
    data = rated(rng.integers(1, 6, (12, 3)).tolist(), rng.random((12, 3)).tolist())

    def value(one: Rated) -> float:
        return correlation(one.people, one.score, "pearson")

    found = over_items(data, value, 0.95)
    grid = [np.delete(column.reshape(12, 3), row, axis=0).ravel() for row in range(12) for column in (data.people, data.score)]
    left = np.array([stats.pearsonr(grid[2 * row], grid[2 * row + 1]).statistic for row in range(12)])
    half = stats.t.ppf(0.975, 11) * math.sqrt(11 / 12 * float(((left - left.mean()) ** 2).sum()))
    assert (found.low, found.high) == pytest.approx((max(-1.0, found.value - half), min(1.0, found.value + half)))
    alone = over_items(rated([[1, 2, 3]], [[1, 2, 3]]), value, 0.95)
    assert alone.high == math.inf
