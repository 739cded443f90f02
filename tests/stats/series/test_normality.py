"""Is it the test that scipy has?"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fireassay.stats.series.normality import shapiro, skewness


@pytest.mark.parametrize("n", [3, 4, 5, 6, 7, 10, 11, 12, 13, 25, 100, 999, 2000])
@pytest.mark.parametrize("kind", ["normal", "exponential", "uniform", "standard_cauchy"])
def test_shapiro_is_scipys(n: int, kind: str) -> None:
    for seed in range(8):
        values = getattr(np.random.default_rng(1000 * n + seed), kind)(size=n)
        expected = stats.shapiro(values)
        w, p_value = shapiro(values)
        assert w == pytest.approx(expected.statistic, abs=2e-7)
        assert p_value == pytest.approx(expected.pvalue, rel=2e-4, abs=1e-9)
        assert skewness(values) == pytest.approx(stats.skew(values, bias=n < 4), rel=1e-9, abs=1e-12)


def test_a_published_example() -> None:
    """Shapiro and Wilk, Biometrika 52 (1965): the weights of eleven men in pounds give W = 0.79."""
    w, p_value = shapiro([148, 154, 158, 160, 161, 162, 166, 170, 182, 195, 236])
    assert w == pytest.approx(0.79, abs=0.005)
    assert p_value == pytest.approx(0.0067, abs=0.0005)


@given(st.lists(st.floats(-1e6, 1e6), max_size=40))
def test_any_values_give_a_p_value_or_a_refusal(values: list[float]) -> None:
    if len(values) < 3 or min(values) == max(values):
        with pytest.raises(ValueError, match="3 values"):
            shapiro(values)
        return
    if np.ptp(values) < 1e-6 * max(1.0, np.abs(values).max()):
        return  # the sum of squares is lost in rounding
    w, p_value = shapiro(values)
    assert 0.0 <= p_value <= 1.0
    assert 0.0 < w <= 1.0
