"""Do means of ratings have the analysis of variance of crossed raters and items, and intervals that hold with few raters?"""

from __future__ import annotations

import math

import numpy as np
import pytest

from fireassay.stats.intervals.intervals import t_quantile
from fireassay.stats.people.crossed_raters import CrossedMean, Ratings, codes, crossed_mean, generalized, items_for
from tests.tiers import drawn


def table(values: np.ndarray) -> Ratings:
    """Complete: a row for each item, a column for each rater."""
    items, raters = values.shape
    return Ratings.of(values.ravel(), list(np.repeat(np.arange(items), raters)), list(np.tile(np.arange(raters), items)))


def anova(values: np.ndarray) -> tuple[float, float, float]:
    """Mean squares of items, raters and the rest."""
    n, k = values.shape
    mean, item, rater = values.mean(), values.mean(axis=1), values.mean(axis=0)
    rest = values - item[:, None] - rater[None, :] + mean
    return (
        k * float(((item - mean) ** 2).sum()) / (n - 1),
        n * float(((rater - mean) ** 2).sum()) / (k - 1),
        float((rest**2).sum()) / ((n - 1) * (k - 1)),
    )


def test_a_complete_table_has_the_parts_of_the_two_way_analysis_of_variance() -> None:
    """Shrout and Fleiss, Psychological Bulletin 86, 1979, table 2: MS 11.24, 32.49 and 1.02."""
    values = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=float)
    assert anova(values) == pytest.approx((11.242, 32.486, 1.019), abs=5e-4)
    found, (item, rater, rest) = crossed_mean(table(values)), anova(values)
    assert found.value == pytest.approx(values.mean())
    assert (found.of_items, found.of_raters, found.of_rest) == pytest.approx(((item - rest) / 4, (rater - rest) / 6, rest))
    assert found.error**2 == pytest.approx((item + rater - rest) / 24)
    degrees = (item + rater - rest) ** 2 / (item**2 / 5 + rater**2 / 3 + rest**2 / 15)
    assert found.degrees == pytest.approx(degrees)


def test_one_rater_has_the_standard_error_of_the_items() -> None:
    values = np.array([1.0, 4.0, 2.0, 5.0])
    found = crossed_mean(Ratings.of(values, [0, 1, 2, 3], ["r"] * 4))
    assert found.error == pytest.approx(values.std(ddof=1) / 2.0)
    assert found.degrees == pytest.approx(3.0)


def test_items_count_alike_however_often_they_were_rated() -> None:
    found = crossed_mean(Ratings.of([1.0, 1.0, 1.0, 5.0, 4.0], ["a", "a", "a", "b", "b"], ["r", "s", "t", "r", "s"]))
    assert found.value == pytest.approx((1.0 + 4.5) / 2)


def test_equal_ratings_have_no_width_and_nothing_repeated_bounds_nothing() -> None:
    assert crossed_mean(table(np.full((4, 3), 2.0))).interval(0.95).high == 2.0
    alone = crossed_mean(Ratings.of([3.0], ["a"], ["r"]))
    assert (alone.interval(0.95).low, alone.interval(0.95).high) == (-math.inf, math.inf)
    with pytest.raises(ValueError, match="at least one"):
        crossed_mean(Ratings.of([], [], []))


def test_more_items_cannot_take_the_raters_part_away() -> None:
    mean = CrossedMean(value=0.0, error=0.5, degrees=4.0, items=100, raters=5, of_items=1.0, of_raters=1.0, of_rest=0.0, fixed=0.2)
    assert items_for(mean, 0.5, 0.95, 0.8) is None
    plenty = items_for(mean, 5.0, 0.95, 0.8)
    assert plenty is not None
    assert plenty < 100


def simulated(rng: np.random.Generator, items: int, raters: int, missing: float, parts: tuple[float, float, float]) -> CrossedMean:
    item, rater, rest = parts
    values = rng.normal(0, item, (items, 1)) + rng.normal(0, rater, (1, raters)) + rng.normal(0, rest, (items, raters))
    rows, columns = np.nonzero(rng.random(values.shape) >= missing)
    return crossed_mean(Ratings.of(values[rows, columns], rows.tolist(), columns.tolist()))


@pytest.mark.slow
@pytest.mark.parametrize("raters", [5, 20, 100])
@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_intervals_hold_the_mean_over_all_raters_and_items(raters: int, missing: float) -> None:
    rng, runs = np.random.default_rng([raters, int(10 * missing)]), drawn(400, 1000)
    found = [simulated(rng, 50, raters, missing, (0.6, 0.4, 0.7)) for _ in range(runs)]
    covered = np.mean([one.interval(0.95).low <= 0.0 <= one.interval(0.95).high for one in found])
    assert abs(covered - 0.95) < 0.01 + 3.0 * math.sqrt(0.95 * 0.05 / runs)
    held = np.mean([one.lower(0.95) > 0.0 for one in found])  # a loss of exactly the margin
    assert held < 0.055 + 3.0 * math.sqrt(0.05 * 0.95 / runs)


@pytest.mark.parametrize("free", [1.0, 2.0, 4.0, 19.0, 5000.0])
@pytest.mark.parametrize("level", [0.95, 0.975])
def test_where_raters_are_all_there_is_the_interval_is_students(free: float, level: float) -> None:
    for squares in (((0.0, 99.0), (4.0, free)), ((4.0, free), (0.0, 3.0))):
        assert generalized(squares, 0.0, level) == pytest.approx(2.0 * t_quantile(level, free), rel=3e-4)


def test_two_parts_are_as_drawn_at_random() -> None:
    rng, squares, noise = np.random.default_rng(3), ((0.5, 30.0), (1.0, 4.0)), 0.1
    drawn_at = [square * free / rng.chisquare(free, 2_000_000) for square, free in squares]
    errors = rng.normal(size=2_000_000) * np.sqrt(np.maximum(0.0, drawn_at[0] + drawn_at[1] - noise))
    assert generalized(squares, noise, 0.975) == pytest.approx(float(np.quantile(errors, 0.975)), rel=5e-3)


@pytest.mark.deep
def test_five_raters_seldom_hold_a_loss_of_the_margin() -> None:
    """Satterthwaite's t held one in 6.2 % of 4,000."""
    rng, runs = np.random.default_rng(5), 4000
    found = [simulated(rng, 100, 5, 0.0, (0.6, 0.4, 0.7)) for _ in range(runs)]
    held = np.mean([one.lower(0.95) > 0.0 for one in found])
    assert held < 0.055 + 2.0 * math.sqrt(0.05 * 0.95 / runs)
    covered = np.mean([one.interval(0.95).low <= 0.0 <= one.interval(0.95).high for one in found])
    assert 0.94 < covered < 0.965


def test_labels_are_numbered_as_they_come() -> None:
    assert codes(["b", "a", "b"]).tolist() == [0, 1, 0]
