"""Trends in order of measurement: worked out by hand, and the rate of false ones."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fireassay.stats.series.trend import trend


def test_the_slope_is_the_median_of_all_pairwise_slopes() -> None:
    """0, 1, 2, 30: pairwise slopes 1, 1, 1, 10, 14.5, 28; their median is (1 + 10) / 2 = 5.5; over 3 places 16.5."""
    found = trend([0, 1, 2, 3], [0.0, 1.0, 2.0, 30.0])
    assert found is not None
    assert found.change == pytest.approx(16.5)


@pytest.mark.parametrize("n", [4, 5, 6, 8])
def test_values_in_strict_order_have_the_p_value_of_two_orders_among_all(n: int) -> None:
    found = trend(list(range(n)), [float(value) for value in range(n)])
    assert found is not None
    assert found.p == pytest.approx(2 / math.factorial(n))


def test_kendalls_tau_of_a_published_table() -> None:
    """Hollander, Wolfe & Chicken, Nonparametric Statistical Methods, 3rd ed., example 8.1 (tuna lightness): K = 16, exact p = .1194."""
    lightness = [44.4, 45.9, 41.9, 53.3, 44.7, 44.1, 50.7, 45.2, 60.1]
    scores = [2.6, 3.1, 2.5, 5.0, 3.6, 4.0, 5.2, 2.8, 3.8]
    found = trend(lightness, scores)
    assert found is not None
    assert found.p == pytest.approx(0.1194, abs=5e-4)


def test_one_wild_value_does_not_make_a_trend() -> None:
    found = trend(list(range(9)), [1.0, 1.1, 0.9, 1.0, 50.0, 1.05, 0.95, 1.02, 0.98])
    assert found is not None
    assert abs(found.change) < 0.2
    assert found.p > 0.3


def test_too_few_or_equal_values_show_nothing() -> None:
    assert trend([0, 1, 2], [1.0, 2.0, 3.0]) is None
    assert trend(list(range(9)), [1.0] * 9) is None
    with pytest.raises(ValueError, match="2 positions for 3 values"):
        trend([0, 1], [1.0, 2.0, 3.0])


@pytest.mark.slow
def test_without_a_trend_one_in_a_hundred_is_called_one() -> None:
    """The exact test at p < 0.01, n = 12: at most 10 of 1000 expected, so 25 or more has probability below 1e-4."""
    numbers = np.random.default_rng(20261120)
    found = [trend(list(range(12)), numbers.lognormal(size=12).tolist()) for _ in range(1000)]
    assert sum(one is not None and one.p < 0.01 for one in found) < 25


@given(st.lists(st.tuples(st.integers(-6, 6), st.integers(-6, 6)), min_size=4, max_size=60), st.booleans())
@example([(k, k) for k in range(40)], True)
def test_slope_and_p_value_are_those_of_scipy(points: list[tuple[int, int]], untied: bool) -> None:
    """With ties and without, few values and many: scipy.stats.theilslopes and kendalltau, which take a second to import."""
    from scipy import stats

    places = [float(x) for x, _ in points]
    values = [float(y) for _, y in points]
    if untied:
        places, values = [k + x / 20 for k, x in enumerate(places)], [y + k / 100 for k, y in enumerate(values)]
    found = trend(places, values)
    if found is None:
        assert len(set(values)) == 1 or len(set(places)) < 4
        return
    slope = stats.theilslopes(values, places).slope
    assert found.change == pytest.approx(slope * (max(places) - min(places)))
    assert found.p == pytest.approx(stats.kendalltau(places, values).pvalue, rel=1e-9)
