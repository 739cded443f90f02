"""Does the bootstrap repeat the published examples, and refuse what cannot carry it?"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from assay.stats.bootstrap import bca, over_launches
from assay.stats.intervals import Interval

# Efron & Tibshirani, "An Introduction to the Bootstrap" (1993): tables 3.1 and 14.1
LSAT = [576, 635, 558, 578, 666, 580, 555, 661, 651, 605, 653, 575, 545, 572, 594]
GPA = [3.39, 3.30, 2.81, 3.03, 3.44, 3.07, 3.00, 3.43, 3.36, 3.13, 3.12, 2.74, 2.76, 2.88, 2.96]
SPATIAL_A = [48, 36, 20, 29, 42, 42, 20, 42, 22, 41, 45, 14, 6, 0, 33, 28, 34, 4, 32, 24, 47, 41, 24, 26, 30, 41]


def correlation(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.corrcoef(x, y)[0, 1])


def test_the_law_schools_have_the_published_interval() -> None:  # methodology T11
    got = bca([LSAT, GPA], correlation, 0.90, seed=1, resamples=4000, least=15)
    assert got.value == pytest.approx(0.776374, abs=5e-7)
    assert (got.low, got.high) == pytest.approx((0.43, 0.92), abs=0.03)


def test_the_spatial_test_has_the_published_interval() -> None:  # methodology T11
    got = bca([SPATIAL_A], np.var, 0.90, seed=1, resamples=4000)
    assert got.value == pytest.approx(171.534, abs=5e-4)
    assert (got.low, got.high) == pytest.approx((115.8, 259.6), abs=8)


def test_fifteen_law_schools_are_too_few_unless_the_example_is_repeated() -> None:
    with pytest.raises(
        ValueError, match="at least 20 independent units .* not 15; use a t interval, or measure 5 more"
    ):
        bca([LSAT, GPA], correlation, 0.90, seed=1)


def test_the_seed_decides_and_nothing_else() -> None:
    first, again, other = (bca([SPATIAL_A], np.mean, 0.95, seed=seed, resamples=500) for seed in (1, 1, 2))
    assert first == again
    assert first != other


@pytest.mark.parametrize(("side", "open_end"), [("greater", "high"), ("less", "low")])
def test_one_sided_bounds_are_inside_the_two_sided_ones(side: str, open_end: str) -> None:
    one = bca([SPATIAL_A], np.mean, 0.95, seed=1, side=side, resamples=2000)  # type: ignore[arg-type]
    two = bca([SPATIAL_A], np.mean, 0.95, seed=1, resamples=2000)
    assert np.isinf(getattr(one, open_end))
    assert two.low < (one.high if side == "less" else one.low) < two.high


def test_of_a_normal_mean_it_is_near_students_t() -> None:
    values = np.random.default_rng(6).normal(5, 1, 200)
    low, high = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    got = bca([values], np.mean, 0.95, seed=1, resamples=2000)
    assert (got.low, got.high) == pytest.approx((low, high), abs=0.03)


@pytest.mark.parametrize("method", ["BCa", "percentile"])
def test_launches_are_drawn_whole(method: str) -> None:
    """30 launches of 200 equal steps: the interval is that of 30 values, not of 6000."""
    values = np.random.default_rng(6).normal(5, 1, 30)
    got = over_launches([[v] * 200 for v in values], np.mean, 0.95, seed=1, method=method, resamples=1000)  # type: ignore[arg-type]
    low, high = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert got.value == pytest.approx(values.mean())
    assert got.high - got.low == pytest.approx(high - low, rel=0.15)


def test_nineteen_launches_are_refused_whatever_their_length() -> None:
    with pytest.raises(ValueError, match="not 19; .* measure 1 more"):
        over_launches([np.arange(1000.0)] * 19, np.mean, 0.95, seed=1)


def test_units_that_do_not_differ_have_an_interval_of_width_zero() -> None:
    assert bca([[2.0] * 20], np.mean, 0.95, seed=1) == Interval(value=2.0, low=2.0, high=2.0)


@pytest.mark.parametrize("columns", [[], [[]], [[1.0, float("nan")] * 10], [[1.0] * 20, [1.0] * 19]])
def test_columns_that_do_not_fit_are_refused(columns: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="unit|bootstrap"):
        bca(columns, np.mean, 0.95, seed=1)


def test_a_confidence_outside_0_to_1_is_refused() -> None:
    with pytest.raises(ValueError, match="confidence"):
        bca([SPATIAL_A], np.mean, 95.0, seed=1)
