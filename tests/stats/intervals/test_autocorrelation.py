"""Is the autocorrelation time that of processes whose time is known, and of series worked out by hand?"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fireassay.stats.intervals.autocorrelation import integrated_time, lag_one
from tests.stats.series.test_steady_state import NILE
from tests.tiers import some


def ar1(rng: np.random.Generator, coefficient: float, n: int) -> np.ndarray:
    """x_t = coefficient x_{t-1} + e_t, without its first 200 values."""
    from scipy.signal import lfilter

    return np.asarray(lfilter([1.0], [1.0, -coefficient], rng.normal(size=n + 200))[200:])


def test_lag_one_of_the_nile_is_the_published_one() -> None:
    assert lag_one(NILE) == pytest.approx(0.4984, abs=5e-5)


@pytest.mark.slow
def test_the_autocovariances_are_those_of_statsmodels() -> None:
    """tau(M) by statsmodels' autocorrelations, with the window searched by hand."""
    from statsmodels.tsa.stattools import acf

    series = ar1(np.random.default_rng(1), 0.7, 501)
    rho = acf(series, nlags=250, fft=False)
    times = [2 * float(np.sum(rho[: m + 1])) - 1 for m in range(251)]
    window = next(m for m in range(1, 251) if m >= 5 * times[m])
    assert integrated_time([series]) == pytest.approx(times[window], rel=1e-9)
    assert lag_one(series) == pytest.approx(float(rho[1]), rel=1e-9)


def test_a_series_is_worked_out_by_hand() -> None:
    """1 1 -1 -1 1 1 -1 -1: products 8, 1, -6, -1, 4; tau(1) = 2(8 + 1)/8 - 1 = 1.25, (2) -.25: 2 >= 5 x -.25, so 1 at least."""
    assert lag_one([1, 1, -1, -1, 1, 1, -1, -1]) == pytest.approx(1 / 8)
    assert integrated_time([[1, 1, -1, -1, 1, 1, -1, -1]]) == 1.0


def test_a_memory_longer_than_the_series_gives_the_largest_time_seen() -> None:
    """0 0 0 1 1 1: products 1.5, .75, 0, -.75; no lag spans five times, the largest of 1, 1 and ... is tau(1) = 2."""
    assert integrated_time([[0, 0, 0, 1, 1, 1]]) == pytest.approx(2.0)


def test_a_difference_between_series_is_memory() -> None:
    rng = np.random.default_rng(2)
    inside = rng.normal(size=(4, 500))
    assert integrated_time(inside) == pytest.approx(1.0, abs=0.3)
    assert integrated_time(inside + 3 * np.arange(4)[:, np.newaxis]) > 50


def test_the_end_of_a_series_does_not_touch_its_beginning() -> None:
    """One of ten at each end: on a ring they would be neighbours, here their only product is at lag 9."""
    values = np.zeros(10)
    values[[0, 9]] = 1.0
    # centred: .8 at the ends, -.2 between; lag 1: 2(.8)(-.2) + 7(.04) = -.04; lag 0: 1.6
    assert lag_one(values) == pytest.approx(-0.04 / 1.6)


@pytest.mark.parametrize("series", [[[5.0] * 50], [[5.0] * 50, [5.0]], [[1.0]], [[1.0], [2.0]]])
def test_without_variation_or_neighbours_there_is_no_memory(series: list[list[float]]) -> None:
    assert integrated_time(series) == 1.0


def test_equal_values_have_no_lag_one() -> None:
    assert lag_one([0.1] * 7) == 0.0


@pytest.mark.parametrize("series", [[], [[]], [[1.0, math.nan]], [[[1.0, 2.0]]]])
def test_series_without_finite_numbers_are_refused(series: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="series"):
        integrated_time(series)


@pytest.mark.parametrize(("coefficient", "tau"), [(0.0, 1.0), (0.5, 3.0), (0.9, 19.0)])
def test_the_time_of_ar1_is_one_plus_f_over_one_minus_f(coefficient: float, tau: float) -> None:
    """n_eff/n = (1 - f)/(1 + f), so 1/3 at .5 and .0526 at .9."""
    rng = np.random.default_rng(11)
    series = [ar1(rng, coefficient, 20_000) for _ in range(10)]
    assert integrated_time(series) == pytest.approx(tau, rel=0.08)


@given(st.lists(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=40), min_size=1, max_size=4))
@example([[0.0, 5e-220]])  # the square of the difference is no number
@example([[5e-324, 0.0, 5e-324]])
def test_trials_are_never_worth_more_than_their_number(series: list[list[float]]) -> None:
    n = sum(map(len, series))
    assert 1.0 <= integrated_time(series) <= n


@pytest.mark.slow
@pytest.mark.parametrize("coefficient", some([0.9, 0.0, 0.999, 0.99999]))
@pytest.mark.parametrize("n", [8191, 8192, 8193, 30_001])
@pytest.mark.deep
def test_a_long_series_taken_piece_by_piece_has_the_same_time(coefficient: float, n: int) -> None:
    """All lags at once by the definition, with the window searched in all of them; a second, shorter series beside it."""
    whole = [ar1(np.random.default_rng(n), coefficient, n), ar1(np.random.default_rng(2), coefficient, n // 3)]
    centre = np.concatenate(whole).mean()
    sums = np.zeros(n // 2 + 1)
    for series in whole:
        products = np.correlate(series - centre, series - centre, mode="full")[len(series) - 1 :]
        count = min(len(products), len(sums))
        sums[:count] += products[:count]
    times = 2.0 * np.cumsum(sums) / sums[0] - 1.0
    window = next((m for m in range(1, len(times)) if m >= 5 * times[m]), None)
    expected = times[1:].max() if window is None else times[window]
    assert integrated_time(whole) == pytest.approx(max(1.0, expected), rel=1e-9)
