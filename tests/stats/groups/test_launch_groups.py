"""Are two groups and an outlying launch seen where they are, and one group left alone?"""

from __future__ import annotations

import math

import numpy as np
import pytest

from fireassay.stats.groups.launch_groups import _reference, groups, unseen_share
from fireassay.stats.intervals.intervals import log_t

TRIALS = 2000


@pytest.mark.parametrize("k", [20, 50, 100])
def test_the_statistic_has_the_published_distribution(k: int) -> None:
    """Engelman & Hartigan (1969): log(1 + C) has about the mean -log(1 - 2/pi) + 2.4/(k - 2) and the variance 1/(k - 2)."""
    logs = np.log1p(_reference(k))
    assert logs.mean() == pytest.approx(-math.log(1.0 - 2.0 / math.pi) + 2.4 / (k - 2), rel=0.05)
    assert logs.std() == pytest.approx((k - 2) ** -0.5, rel=0.15)


@pytest.mark.slow
@pytest.mark.parametrize("k", [3, 5, 10])
def test_one_group_is_called_two_in_one_of_a_hundred_experiments(k: int) -> None:
    rng = np.random.default_rng([1, k])
    seen = sum(groups(np.exp(0.05 * rng.normal(size=k))) is not None for _ in range(TRIALS))
    assert seen / TRIALS < 0.01 + 3 * math.sqrt(0.01 * 0.99 / TRIALS)


def test_two_modes_are_seen_with_their_members_and_means() -> None:
    """Geometric means by hand: sqrt(14 x 14.2), and the third root of 10 x 10.1 x 9.9."""
    found = groups([10.0, 14.0, 10.1, 14.2, 9.9])
    assert found is not None
    assert (found.lower, found.upper, found.outlying) == ((0, 2, 4), (1, 3), None)
    assert (found.low, found.high) == pytest.approx(((10.0 * 10.1 * 9.9) ** (1 / 3), (14.0 * 14.2) ** 0.5))


def test_one_launch_far_from_the_others_is_named() -> None:
    found = groups([10.0, 10.1, 9.9, 10.05, 13.0])
    assert found is not None
    assert found.outlying == 4


def test_neither_of_two_values_is_an_outlier() -> None:
    assert groups([1.0, 2.0]) is None


def test_groups_closer_than_what_matters_are_one() -> None:
    values = [10.0, 10.0001, 10.05, 10.0501, 10.0499]
    assert groups(values) is not None
    assert groups(values, smallest_effect=0.01) is None


@pytest.mark.parametrize("values", [[1.0, 1.0, 1.0], [0.0, 1.0, 1.0, 1.0], [1.0, math.inf, 1.0, 1.0], [-1.0, 1.0, 5.0, 9.0], []])
def test_equal_values_and_those_without_a_logarithm_have_no_groups(values: list[float]) -> None:
    assert groups(values) is None


def test_modes_that_both_occurred_are_seen_and_most_wrong_intervals_are_marked() -> None:
    """Every fifth launch 1.5 times as slow, 1 % of spread: the truth is exp(0.2 log 1.5)."""
    rng, truth = np.random.default_rng(5), 1.5**0.2
    both = marked = 0
    for _ in range(TRIALS // 4):
        slow = rng.random(8) < 0.2
        values = np.exp(0.01 * rng.normal(size=8)) * np.where(slow, 1.5, 1.0)
        if 0 < slow.sum() < 8:
            both += 1
            marked += groups(values) is not None
        else:  # a mode that no launch met: nothing can show it
            interval = log_t(values, 0.95)
            assert not interval.low <= truth <= interval.high
    assert marked / both > 0.99


def test_the_share_that_k_launches_can_miss_is_the_rule_of_three() -> None:
    """(1 - share)^k = 0.05: 1 - 0.05^(1/5) = 0.4507, and with 29 launches just below a tenth."""
    assert unseen_share(5) == pytest.approx(0.4507, abs=1e-4)
    assert unseen_share(29) < 0.1 < unseen_share(28)
