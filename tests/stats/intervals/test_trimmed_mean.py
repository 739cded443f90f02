"""The trimmed mean against scipy's, and how often its interval holds the truth when a few values are far off."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import mstats, trim_mean

from fireassay.stats.intervals.means import trimmed_mean


@pytest.mark.parametrize("n", [4, 8, 20, 48])
def test_it_is_scipys(n: int) -> None:
    """Where a quarter of the values is a whole number of them; else scipy cuts by the share and not by what was cut."""
    values = np.random.default_rng(n).standard_t(2, n)
    found = trimmed_mean(values, 0.95)
    assert found.value == pytest.approx(trim_mean(values, 0.25))
    assert (found.low, found.high) == pytest.approx(tuple(mstats.trimmed_mean_ci(values, limits=(0.25, 0.25), alpha=0.05)))


def test_few_values_are_not_cut() -> None:
    """1, 2 and 6: mean 3, s = sqrt(7), t[2] = 4.3027: 3 -+ 6.5724."""
    found = trimmed_mean([6.0, 1.0, 2.0], 0.95)
    assert (found.value, found.high - found.value) == pytest.approx((3.0, 4.30265 * math.sqrt(7.0 / 3.0)), rel=1e-5)
    assert trimmed_mean([4.0], 0.95).low == -math.inf
    with pytest.raises(ValueError, match="at least one"):
        trimmed_mean([], 0.95)


def test_bursts_move_it_little_and_its_interval_holds_the_truth_as_often_as_it_says() -> None:
    """Of 16 values one or two are 20 deviations off, all on one side: 9 in 10 draws hold it all the same, within 1.25."""
    rng = np.random.default_rng(7)
    held, narrower = 0, []
    for _ in range(400):
        values = rng.normal(0.0, 1.0, 16)
        values[rng.random(16) < 0.08] += rng.choice([-20.0, 20.0])
        found = trimmed_mean(values, 0.95)
        held += found.low <= 0.0 <= found.high
        narrower.append((found.high - found.low) < 2.5)
    assert held >= 0.9 * 400
    assert np.mean(narrower) >= 0.85
