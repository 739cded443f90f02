"""Do the intervals equal the published tables, and do they cover what they promise?"""

from __future__ import annotations

import math

import numpy as np
import pytest

from fireassay.stats.intervals.intervals import MAX_REPETITIONS, Interval, log_t, mean_t, paired_log_ratio, smallest, t_quantile
from tests.tiers import some

# Two-sided 95 % and one-sided 95 % points of Student's t, from the printed tables (Fisher & Yates).
T_TABLE = {(0.975, 1): 12.706, (0.975, 4): 2.776, (0.975, 9): 2.262, (0.95, 2): 2.920, (0.95, 30): 1.697}


@pytest.mark.parametrize(("point", "printed"), T_TABLE.items())
def test_t_quantiles_are_the_printed_ones(point: tuple[float, int], printed: float) -> None:
    assert t_quantile(*point) == pytest.approx(printed, abs=5e-4)


def test_with_infinite_degrees_of_freedom_t_is_the_normal() -> None:
    assert t_quantile(0.975, math.inf) == pytest.approx(1.959964, abs=1e-6)


@pytest.mark.parametrize(("q", "df"), [(0.0, 3), (1.0, 3), (0.9, 0), (0.9, -1), (math.nan, 3)])
def test_t_quantiles_outside_their_domain_are_refused(q: float, df: float) -> None:
    with pytest.raises(ValueError, match="not"):
        t_quantile(q, df)


def test_the_mean_interval_is_students() -> None:
    # Student's sleep data, differences of the two drugs: mean 1.58, s 1.2300, t[9] 2.2622 -> 0.7001 .. 2.4599 (R, t.test)
    got = mean_t([1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4], 0.95)
    assert (got.value, got.low, got.high) == pytest.approx((1.58, 0.7001142, 2.4598858), abs=1e-6)


def test_one_value_bounds_nothing() -> None:
    assert mean_t([3.0], 0.95) == Interval(value=3.0, low=-math.inf, high=math.inf)
    assert log_t([3.0], 0.95) == Interval(value=3.0, low=0.0, high=math.inf)
    assert paired_log_ratio([3.0], [2.0], 0.95) == Interval(value=1.5, low=0.0, high=math.inf)


def test_equal_values_have_an_interval_of_width_zero() -> None:
    assert mean_t([0.1] * 7, 0.95) == Interval(value=0.1, low=0.1, high=0.1)


def test_the_interval_on_logs_is_symmetric_as_a_factor() -> None:
    # logs of 1, e, e^2: mean 1, s 1; t[2] = 4.302653, half-width 4.302653/sqrt(3) = 2.484138
    got = log_t([1.0, math.e, math.e**2], 0.95)
    assert math.log(got.value) == pytest.approx(1.0)
    assert math.log(got.high) == pytest.approx(1 + 2.484138, abs=1e-6)
    assert math.log(got.low) == pytest.approx(1 - 2.484138, abs=1e-6)


def test_a_bound_beyond_the_largest_float_is_infinite() -> None:
    assert log_t([1e-300, 1e300], 0.99).high == math.inf


def test_the_paired_ratio_is_blind_to_what_a_block_shares() -> None:
    block = np.array([1.0, 7.0, 0.2])
    assert paired_log_ratio(2 * block, block, 0.95) == Interval(value=2.0, low=2.0, high=2.0)


def test_the_paired_ratio_inverts_with_its_sides() -> None:
    a, b = [1.0, 1.2, 1.1, 0.9], [2.0, 2.1, 2.6, 1.7]
    there, back = paired_log_ratio(a, b, 0.9), paired_log_ratio(b, a, 0.9)
    assert (1 / there.value, 1 / there.high, 1 / there.low) == pytest.approx((back.value, back.low, back.high))


@pytest.mark.parametrize("values", [[], [1.0, 0.0], [1.0, -2.0], [1.0, math.nan], [math.inf], [[1.0, 2.0]]])
def test_logs_of_anything_but_positive_numbers_are_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="values"):
        log_t(values, 0.95)


def test_unequal_numbers_of_pairs_are_refused() -> None:
    with pytest.raises(ValueError, match="2 over 3"):
        paired_log_ratio([1, 2], [1, 2, 3], 0.95)


# Exact order-statistic ranks of the median at 95 % (from the binomial distribution).
RANKS = {6: (1, 6), 7: (1, 7), 8: (1, 8), 9: (2, 8), 10: (2, 9), 12: (3, 10), 15: (4, 12), 20: (6, 15)} | {
    30: (10, 21),
    50: (18, 33),
    100: (40, 61),
}


# (cv, relative half-width): launches, at 95 %
LAUNCHES = {(1, 1): 7, (1, 2): 4, (2, 1): 18, (2, 2): 7, (5, 1): 99, (5, 2): 27, (5, 5): 7} | {(10, 1): 387, (10, 2): 99, (10, 5): 18}


@pytest.mark.parametrize("answer", [2, 3, 1000, 9_000_000, MAX_REPETITIONS])
def test_the_search_finds_the_smallest_sufficient_number_up_to_its_limit(answer: int) -> None:
    assert smallest(2, lambda k: k >= answer) == answer
    with pytest.raises(ValueError, match="more than"):
        smallest(2, lambda k: k > MAX_REPETITIONS)


# k: detectable effect in percent for cv 0.5, 1, 2, 5 %
DETECTABLE = {5: (1.0, 2.0, 4.0, 10.1), 3: (1.5, 3.0, 6.1, 15.2), 10: (0.66, 1.33, 2.65, 6.6)}


@pytest.mark.slow
@pytest.mark.parametrize("k", some([5, 10]))
@pytest.mark.parametrize("icc", [0.0, 0.1, 0.5])
def test_launch_means_of_two_level_data_are_covered_95_percent(k: int, icc: float) -> None:
    """Lognormal two-level data, 50 steps in each launch; 1.5 points is what issue and method promise."""
    rng, repetitions = np.random.default_rng([k, int(10 * icc)]), 4000
    launch = rng.normal(size=(repetitions, k, 1))
    steps = rng.normal(size=(repetitions, k, 50))
    medians = np.exp(0.3 * np.median(math.sqrt(icc) * launch + math.sqrt(1 - icc) * steps, axis=2))
    covered = [got.low <= 1.0 <= got.high for got in (log_t(row, 0.95) for row in medians)]
    assert np.mean(covered) == pytest.approx(0.95, abs=0.015)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0, math.nan])
def test_a_confidence_outside_0_to_1_is_refused(confidence: float) -> None:
    for interval in (mean_t, log_t):
        with pytest.raises(ValueError, match="confidence"):
            interval([1.0], confidence)
