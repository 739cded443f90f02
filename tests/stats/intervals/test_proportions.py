"""Shares: between launches, and never narrower than independent trials would have it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from fireassay.stats.intervals.means import clopper_pearson, share


def test_no_failure_in_three_launches_is_no_certainty() -> None:
    """0 of 300: the exact upper end is 1 - 0.025^(1/300) = 0.01222."""
    found = share([0, 0, 0], [100, 100, 100], 0.95)
    assert (found.value, found.low) == (0.0, 0.0)
    assert found.high == pytest.approx(1.0 - 0.025 ** (1 / 300))


def test_launches_that_differ_are_wider_than_their_trials() -> None:
    """10, 20 and 30 of 100 each: mean 0.2, sd 0.1, t[2] = 4.303: 0.2 -+ 0.2484, cut off at 0."""
    found = share([10, 20, 30], [100, 100, 100], 0.95)
    assert (found.value, found.low) == (pytest.approx(0.2), 0.0)
    assert found.high == pytest.approx(0.2 + 4.302653 * 0.1 / math.sqrt(3), rel=1e-6)


def test_one_launch_bounds_nothing() -> None:
    found = share([5], [10], 0.95)
    assert (found.value, found.low, found.high) == (0.5, -math.inf, math.inf)


@given(st.integers(0, 40), st.integers(1, 40), st.sampled_from([0.9, 0.95, 0.99]))
def test_it_agrees_with_scipy(hits: int, more: int, confidence: float) -> None:
    total = hits + more
    ours = clopper_pearson(hits, total, confidence)
    theirs = binomtest(hits, total).proportion_ci(confidence, "exact")
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


@pytest.mark.slow
def test_it_covers_the_truth_where_launches_have_a_luck_of_their_own() -> None:
    """Five launches of 400 requests whose own share scatters round 5 %: 95 % intervals hold it 93 to 98 times in 100."""
    rng, hit, rounds = np.random.default_rng(1), 0, 1000
    for _ in range(rounds):
        own = rng.beta(20, 380, size=5)
        found = share(rng.binomial(400, own).astype(float), np.full(5, 400.0), 0.95)
        hit += found.low <= 0.05 <= found.high
    assert 0.93 <= hit / rounds <= 0.98


@pytest.mark.parametrize(("hits", "total"), [(-1, 10), (11, 10), (0, 0)])
def test_an_invalid_share_is_refused(hits: float, total: float) -> None:
    with pytest.raises(ValueError, match="share"):
        clopper_pearson(hits, total, 0.95)
