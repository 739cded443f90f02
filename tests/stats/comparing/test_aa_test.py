"""The A/A test on one series of launches: its floor, its false alarms, and when it says nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fireassay.stats.comparing.aa_test import MIN_LAUNCHES, alike

pytestmark = pytest.mark.slow


def test_equal_launches_show_no_difference_at_all() -> None:
    found = alike([2.0] * 30)
    assert found is not None
    assert (found.noise_floor, found.noise_floor_apart, found.spread) == (0.0, 0.0, 0.0)
    assert found.false_alarms.value == 0.0
    assert found.false_alarms.comparisons == 21 * 16  # 30 - 10 + 1 windows, 16 ways each
    assert found.false_alarms.windows == 3


def test_too_few_launches_say_nothing() -> None:
    assert alike([1.0] * (MIN_LAUNCHES - 1)) is None


@pytest.mark.deep
def test_the_floor_of_independent_launches_is_that_of_the_normal_distribution() -> None:
    # |difference of two means of 5| exceeds 1.96 sd sqrt(2/5) in 5 % of cases: 1.24 % at a spread of 1 %
    floors = [
        found.noise_floor for seed in range(6) if (found := alike(np.exp(np.random.default_rng(seed).normal(0.0, 0.01, 60)))) is not None
    ]
    assert np.mean(floors) == pytest.approx(1.96 * 0.01 * math.sqrt(2 / 5), rel=0.15)


def test_a_step_between_two_halves_is_a_false_alarm_apart_and_none_in_turn() -> None:
    # alternating 1 % keeps the spread above zero; the second half is 20 % slower
    values = [(1.0 if i < 15 else 1.2) * (1.01 if i % 2 else 0.99) for i in range(30)]
    found = alike(values)
    assert found is not None
    assert found.false_alarms_apart.value > 0.05
    # of 21 windows the step lies in the middle of one and beside the middle of two: the 95 % quantile is one of those two,
    # where a side has 4 of 5 launches behind the step: 1.2^(4/5) - 1 = 15.7 %
    assert found.noise_floor_apart == pytest.approx(0.157, rel=0.1)
    assert found.noise_floor < 0.5 * found.noise_floor_apart


def test_the_interval_counts_only_windows_that_share_no_launch() -> None:
    found = alike([1.0, 1.01] * 15)
    assert found is not None
    # no alarm in 3 independent windows: Clopper-Pearson upper limit 1 - 0.025^(1/3) = 0.7076
    assert found.false_alarms_apart.value == 0.0
    assert (found.false_alarms_apart.low, found.false_alarms_apart.high) == (0.0, pytest.approx(0.7076, abs=1e-4))
