"""Day-to-day variation in the difference of two records, worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fireassay.stats.comparing.between_records import Level, against_history, assumed, between, level, widened
from fireassay.stats.comparing.comparison import compare_welch, decide
from tests.tiers import some


def test_a_record_s_level_is_the_mean_of_logs_with_its_variance() -> None:
    found = level([math.exp(1.0), math.exp(2.0), math.exp(3.0)], "ratio")
    assert found.mean == pytest.approx(2.0)
    assert found.variance == pytest.approx(1.0 / 3.0)  # s^2 = 1 of the logs 1, 2, 3; k = 3
    assert level([5.0], "difference") == Level(mean=5.0, variance=None)


@pytest.mark.parametrize("values", [[], [math.nan], [math.inf, 1.0], [0.0, 1.0]])
def test_values_without_a_level_are_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match=r"finite|logarithm"):
        level(values, "ratio")


def test_days_are_what_is_left_of_the_spread_of_records() -> None:
    # Means 0, 1, 2, 3, 4: S^2 = 10/4 = 2.5; mean s^2/k = 0.5; tau^2 = 2.
    found = between([Level(mean=float(x), variance=0.5) for x in range(5)])
    assert found is not None
    assert (found.total, found.variance) == (pytest.approx(2.5), pytest.approx(2.0))
    assert found.deviation == pytest.approx(math.sqrt(2.0))
    calm = between([Level(mean=0.0, variance=0.5)] * 5)
    assert calm is not None
    assert calm.variance == 0.0, "a spread below that of the launches says that days do not differ"


def test_four_records_say_nothing_about_days() -> None:
    assert between([Level(mean=0.0, variance=0.1)] * 4) is None


def test_with_equal_records_the_variance_is_twice_that_of_the_record_means() -> None:
    # s^2/k = 2.5/5 = 0.5 on both sides and in the history: V = 2 * 2.5 = 5 at 4 degrees of freedom; t = 2.776445.
    one = [-2.0, -1.0, 0.0, 1.0, 2.0]
    raw = compare_welch(one, [x + 3.0 for x in one], scale="difference")
    days = between([Level(mean=float(x), variance=0.5) for x in range(5)])
    assert days is not None
    a = level(one, "difference")
    found = widened(raw, a, a, days)
    half = 2.776445 * math.sqrt(5.0)
    assert (found.low, found.high) == (pytest.approx(3.0 - half, abs=1e-5), pytest.approx(3.0 + half, abs=1e-5))
    assert found.p_value > raw.p_value


def test_a_calm_history_never_narrows_the_interval_of_the_launches() -> None:
    one = [-2.0, -1.0, 0.0, 1.0, 2.0]
    raw = compare_welch(one, one, scale="difference")
    days = between([Level(mean=0.0, variance=0.5)] * 50)
    assert days is not None
    found = widened(raw, level(one, "difference"), level(one, "difference"), days)
    assert found.high - found.low >= raw.high - raw.low


def test_an_assumed_deviation_enters_twice() -> None:
    # Launches without spread: V = 2 * 0.15^2, normal: 1.96 * 0.2121 = 0.4158, so 1/1.5155 to 1.5155.
    found = assumed(compare_welch([1.0] * 5, [1.0] * 5), Level(mean=0.0, variance=0.0), Level(mean=0.0, variance=0.0), 0.15)
    assert found.high == pytest.approx(math.exp(1.959964 * math.sqrt(2 * 0.15**2)), rel=1e-4)
    assert found.low == pytest.approx(1.0 / found.high)


def test_one_more_record_is_predicted_from_those_before() -> None:
    # Means 0..4, S^2 = 2.5, n = 5: V = 2.5 * 1.2 = 3; the new record at 2 + 5; t(4) = 2.776445.
    levels = [Level(mean=float(x), variance=None) for x in range(5)]
    found = against_history([7.0], levels, 0.95, "difference")
    half = 2.776445 * math.sqrt(3.0)
    assert (found.value, found.low) == (pytest.approx(5.0), pytest.approx(5.0 - half, abs=1e-5))
    with pytest.raises(ValueError, match="at least 5"):
        against_history([7.0], levels[:4], 0.95, "difference")


def test_a_single_launch_is_not_judged_by_records_of_several() -> None:
    """Means of five launches scatter less than one launch does: 2/sqrt(5) against 2, where days are alike."""
    rng = np.random.default_rng(3)
    several = [level(list(map(float, rng.normal(10.0, 2.0, 5))), "difference") for _ in range(6)]
    found = against_history([14.0], several, 0.95, "difference")
    assert decide(found, better="lower").verdict == "insufficient"
    singles = [level([float(x)], "difference") for x in range(6)]
    assert decide(against_history([30.0], singles, 0.95, "difference"), better="lower").change == "worse"
    assert against_history([9.0, 11.0], several, 0.95, "difference").k_b == 3


@pytest.mark.slow
@pytest.mark.parametrize("records", some([0, 5, 10], 2))
def test_equal_code_on_days_that_differ_is_seldom_called_a_change(records: int) -> None:
    """15 % between days, 3 % between launches; the larger simulation is benchmarks/check.py."""
    rng, false, n = np.random.default_rng(records), 0, 300
    for _ in range(n):
        logs = rng.normal(0.0, 0.15, (records + 2, 1)) + rng.normal(0.0, 0.03, (records + 2, 5))
        values = [list(map(float, row)) for row in np.exp(logs)]
        a, b, *past = (level(one, "ratio") for one in values)
        days, raw = between(past), compare_welch(values[0], values[1])
        found = assumed(raw, a, b, 0.15) if days is None else widened(raw, a, b, days)
        false += not found.low <= 1.0 <= found.high
    assert false / n <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / n)
