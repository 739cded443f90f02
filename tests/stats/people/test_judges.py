"""Are sensitivity, specificity and the slope on length those of other programs?"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from fireassay.stats.people.judges import share_called_good, slope


def test_the_slope_is_that_of_least_squares_and_its_interval_near_the_ordinary_one() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(5.0, 1.0, 400)
    y = 0.3 * x + rng.normal(0.0, 0.5, 400)
    theirs, found = stats.linregress(x, y), slope(y, x, None, 0.95)
    assert found is not None
    assert found.value == pytest.approx(theirs.slope)
    half = stats.t.ppf(0.975, 398) * theirs.stderr
    assert (found.low, found.high) == pytest.approx((theirs.slope - half, theirs.slope + half), rel=0.05)


def test_a_planted_bias_to_length_is_covered() -> None:
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(200):
        x = rng.normal(5.0, 1.0, 60)
        found = slope(0.1 * x + rng.choice([-0.5, 0.0, 0.5], 60), x, None, 0.95)
        assert found is not None
        inside += found.low <= 0.1 <= found.high
    assert inside / 200 == pytest.approx(0.95, abs=0.05)


@pytest.mark.parametrize(("errors", "lengths"), [([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]), ([1.0] * 5, [2.0] * 5), ([], [])])
def test_too_few_items_or_equal_lengths_have_no_slope(errors: list[float], lengths: list[float]) -> None:
    assert slope(np.array(errors), np.array(lengths), None, 0.95) is None


def test_shares_are_those_of_the_table() -> None:
    """Of 10 good ones 8 are called good: Wilson 0.490 to 0.943 (statsmodels, proportion_confint)."""
    good = np.array([True] * 10 + [False] * 5)
    called = np.array([True] * 8 + [False] * 7)
    found = share_called_good(good, called, np.ones(15), None, 0.95)
    assert found is not None
    assert (found.value, found.low, found.high) == pytest.approx((0.8, 0.4902, 0.9433), abs=1e-4)
    assert share_called_good(np.array([True, False]), np.array([True, True]), np.ones(2), None, 0.95) is None
