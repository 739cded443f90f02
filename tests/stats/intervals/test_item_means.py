"""Do intervals of means over items agree with other programs, and cover the truth?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from fireassay.stats.intervals.item_means import of_items, of_units, wilson
from tests.tiers import some


@pytest.mark.parametrize(("right", "total"), [(0, 3), (1, 20), (82, 100), (999, 1000), (7, 7)])
def test_a_share_has_wilsons_interval(right: int, total: int) -> None:
    found = wilson(right, total, 0.95)
    assert (found.low, found.high) == pytest.approx(proportion_confint(right, total, method="wilson"), abs=1e-12)


def test_symmetric_graded_items_have_students_interval() -> None:
    half = np.random.default_rng(1).uniform(size=15)
    values = np.concatenate((half, 1.0 - half))
    found = of_items(values, np.ones(30), None, (0.0, 1.0), 0.9)
    theirs = stats.ttest_1samp(values, 0.0).confidence_interval(0.9)
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_skewed_items_have_the_outer_bounds_of_student_and_johnson() -> None:
    values = np.random.default_rng(1).exponential(size=30)
    found = of_items(values, np.ones(30), None, (0.0, np.inf), 0.9)
    theirs, t = stats.ttest_1samp(values, 0.0).confidence_interval(0.9), stats.t.ppf(0.95, 29)
    shift = values.std(ddof=1) * stats.skew(values) * (1 + 2 * t**2) / (6 * 30)
    assert shift > 0.0
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high + shift), abs=1e-12)


def skewed(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.beta(0.5, 4.5, n)  # ROUGE-like: many near 0; the mean is 0.1


def all_or_part(rng: np.random.Generator, n: int) -> np.ndarray:
    """F1-like: most 1, some 0, some between; the mean is 0.725."""
    u = rng.random(n)
    return np.where(u < 0.6, 1.0, np.where(u < 0.75, 0.0, rng.random(n)))


def clustered(rng: np.random.Generator, n: int) -> np.ndarray:
    """In fives whose beta-distributed level is theirs, of mean 0.3."""
    return np.clip(np.repeat(rng.beta(1.2, 2.8, n // 5), 5) * rng.uniform(0.5, 1.5, n), 0.0, 1.5)


@pytest.mark.parametrize(("draw", "truth"), [(skewed, 0.1), (all_or_part, 0.725), (clustered, 0.3)])
@pytest.mark.parametrize("n", some([20, 50, 1000], 2))
def test_intervals_of_skewed_means_cover_the_truth(draw: Callable[..., np.ndarray], truth: float, n: int) -> None:
    """95 % within 1.5 points and three errors of 1,000 draws; the clustered ones have five times the items."""
    rng, covered = np.random.default_rng([n, round(1000 * truth)]), 0
    items, labels = (5 * n, [index // 5 for index in range(5 * n)]) if draw is clustered and n < 1000 else (n, None)
    if draw is clustered and labels is None:
        labels = [index // 5 for index in range(n)]
    for _ in range(1000):
        found = of_items(draw(rng, items), np.ones(items), labels, (0.0, 1.5 if draw is clustered else 1.0), 0.95)
        covered += found.low <= truth <= found.high
    error = 3 * (0.05 * 0.95 / 1000) ** 0.5
    assert 0.935 - error <= covered / 1000 <= 0.965 + error


def test_scores_of_which_hardly_any_differ_are_not_certain() -> None:
    """19 times 1 and once 0.9: Student's lower bound is 0.985, of 20 items at 97.5 % an eighth may be anything."""
    values = np.append(np.ones(19), 0.9)
    found = of_items(values, np.ones(20), None, (0.0, 1.0), 0.95)
    assert found.low < 0.85 < 0.98 < stats.ttest_1samp(values, 0.0).confidence_interval(0.95).low
    assert found.high == 1.0


def test_clusters_have_the_robust_error_of_statsmodels() -> None:
    random = np.random.default_rng(2)
    groups = np.repeat(np.arange(25), 8)
    values = random.normal(size=200) + np.repeat(random.normal(size=25), 8)
    mean, error, units = of_units(values, np.ones(200), groups.tolist())
    options = {"groups": groups, "use_correction": True, "df_correction": False}
    fitted = sm.OLS(values, np.ones(200)).fit(cov_type="cluster", cov_kwds=options)
    correction = (200 - 1) / (200 - 1)  # one parameter: statsmodels multiplies by (n - 1) / (n - k)
    assert mean == pytest.approx(fitted.params[0], abs=1e-12)
    assert error == pytest.approx(fitted.bse[0] / correction**0.5, rel=1e-9)
    assert units == 25


def test_one_unit_bounds_nothing_but_the_scale() -> None:
    found = of_items(np.array([0.2, 0.4]), np.ones(2), ["p", "p"], (0.0, 1.0), 0.95)
    assert (found.value, found.low, found.high) == (pytest.approx(0.3), 0.0, 1.0)


@pytest.mark.parametrize("n", [20, 100, 1000])
def test_intervals_of_shares_cover_the_truth_on_average(n: int) -> None:
    """Wilson's coverage oscillates with p; over p from .05 to .95 its exact mean is 95 % within 1.5 points."""
    shares = np.linspace(0.05, 0.95, 91)
    counts = np.arange(n + 1)
    ends = [wilson(int(k), n, 0.95) for k in counts]
    low, high = np.array([end.low for end in ends]), np.array([end.high for end in ends])
    covered = [float(stats.binom.pmf(counts, n, p)[(low <= p) & (p <= high)].sum()) for p in shares]
    assert abs(np.mean(covered) - 0.95) < 0.015


@pytest.mark.parametrize("n", [20, 50, 200])
@pytest.mark.parametrize("share", [0.5, 0.8])
def test_weighted_shares_are_covered(n: int, share: float) -> None:
    """Lognormal weights: 95 % within 1.5 points and three errors of 1,000 draws; Student's t covers 90 % of 20."""
    rng = np.random.default_rng([n, round(100 * share)])
    found = (of_items((rng.random(n) < share).astype(float), np.exp(rng.normal(size=n)), None, (0.0, 1.0), 0.95) for _ in range(1000))
    covered = sum(one.low <= share <= one.high for one in found) / 1000
    assert abs(covered - 0.95) <= 0.015 + 3.0 * 0.0069


def test_a_weighted_share_has_as_many_items_as_it_tells() -> None:
    """Kish's number where weights tell nothing of the items, fewer where the heavy ones are the uncertain ones."""
    weights, alike = np.repeat([1.0, 10.0], (80, 20)), np.tile([1.0, 1.0, 1.0, 0.0], 25)
    heavy = np.concatenate([np.ones(80), np.tile([1.0, 0.0], 10)])  # the light ones are all right
    kish = 280.0**2 / (80 + 20 * 100)
    found, theirs = of_items(alike, weights, None, (0.0, 1.0), 0.95), wilson(0.75 * kish, kish, 0.95)
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    found, share = of_items(heavy, weights, None, (0.0, 1.0), 0.95), 180 / 280
    robust = float((weights**2) @ (heavy - share) ** 2) / 280**2
    total = share * (1.0 - share) / robust
    assert total < kish
    theirs = wilson(share * total, total, 0.95)
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
