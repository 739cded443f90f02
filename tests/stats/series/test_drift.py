"""Trend and memory of values in the order in which they were taken."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import linregress

from fireassay.stats.series.trend import drift, memory, memory_limit


def test_a_steady_growth_is_found_exactly() -> None:
    seconds = [0.0, 600.0, 1200.0, 1800.0]
    found = drift(seconds, [math.exp(0.02 * s / 3600.0) for s in seconds])
    assert found is not None
    assert found.per_hour == pytest.approx(math.expm1(0.02))
    assert found.over_the_run == pytest.approx(math.expm1(0.01))
    assert found.p_value == pytest.approx(0.0, abs=1e-9)


def test_slope_and_p_are_those_of_scipys_regression_where_no_value_resembles_the_one_before() -> None:
    numbers = np.random.default_rng(3)
    seconds = np.arange(20) * 7.0
    values = np.exp(0.0001 * seconds + np.tile([0.02, -0.02], 10) + numbers.normal(0, 0.005, 20))
    found, known = drift(seconds, values), linregress(seconds, np.log(values))
    assert found is not None
    assert math.log1p(found.per_hour) == pytest.approx(known.slope * 3600.0)
    assert found.p_value == pytest.approx(known.pvalue)


@pytest.mark.slow
def test_a_wandering_series_is_no_drift_where_independent_values_would_be_one() -> None:
    # of 200 AR(0.5) series, ordinary regression calls about 22 a drift at p < 0.01; 5 % + 3 standard errors are 19
    rng, seconds = np.random.default_rng(5), np.arange(30.0)
    ours = theirs = 0
    for _ in range(200):
        values = [0.0]
        for e in rng.normal(size=60):
            values.append(0.5 * values[-1] + e)
        series = np.exp(0.01 * np.array(values[-30:]))
        found = drift(seconds, series)
        assert found is not None
        ours += found.p_value < 0.01
        theirs += linregress(seconds, np.log(series)).pvalue < 0.01
    assert ours <= 12 < theirs


def test_too_few_values_have_no_drift_and_no_memory() -> None:
    assert drift([0.0, 1.0, 2.0], [1.0, 2.0, 3.0]) is None
    assert drift([1.0] * 5, [1.0, 2.0, 3.0, 4.0, 5.0]) is None
    assert memory([1.0, 2.0, 3.0]) is None
    assert memory([1.0] * 9) is None


def test_the_memory_of_a_known_series() -> None:
    # m = 2.5; deviations -1.5 -0.5 0.5 1.5; products 0.75 - 0.25 + 0.75 = 1.25; squares 5
    assert memory([1.0, 2.0, 3.0, 4.0]) == pytest.approx(0.25)
    assert memory([1.0, 2.0, 1.0, 2.0]) == pytest.approx(-0.75)


def test_the_limit_of_independent_values() -> None:
    assert memory_limit(100) == pytest.approx(0.196)
