"""Do intervals of means over items agree with other programs, and cover the truth?"""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from fireassay.stats.intervals.item_means import of_items, of_units, wilson


@pytest.mark.parametrize(("right", "total"), [(0, 3), (1, 20), (82, 100), (999, 1000), (7, 7)])
def test_a_share_has_wilsons_interval(right: int, total: int) -> None:
    found = wilson(right, total, 0.95)
    assert (found.low, found.high) == pytest.approx(proportion_confint(right, total, method="wilson"), abs=1e-12)


def test_independent_graded_items_have_students_interval() -> None:
    values = np.random.default_rng(1).uniform(size=30)
    found = of_items(values, np.ones(30), None, (0.0, 1.0), 0.9)
    theirs = stats.ttest_1samp(values, 0.0).confidence_interval(0.9)
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


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
