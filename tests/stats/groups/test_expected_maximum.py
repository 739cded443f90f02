"""The slowest of many workers: a closed form for two, drawn numbers for many, and the way back."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from scipy.stats import norm

from fireassay.stats.groups.stragglers import slowest_of, spread_of


@pytest.mark.parametrize("spread", [0.01, 0.05, 0.2, 0.7])
def test_two_workers_give_twice_a_normal_probability(spread: float) -> None:
    """Two lognormals of mean 1: E max = 2 Phi(spread / sqrt 2), by exchanging the measure."""
    assert slowest_of(2, spread) == pytest.approx(2.0 * norm.cdf(spread / math.sqrt(2.0)), rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "spread"), [(7, 0.1), (1000, 0.05), (10_000, 0.3)])
def test_many_workers_give_the_mean_of_drawn_maxima(workers: int, spread: float) -> None:
    rng = np.random.default_rng(3)
    drawn = [float(np.exp(spread * rng.standard_normal(workers) - spread**2 / 2).max()) for _ in range(2000)]
    assert slowest_of(workers, spread) == pytest.approx(float(np.mean(drawn)), abs=4.0 * float(np.std(drawn)) / math.sqrt(len(drawn)))


def test_one_worker_or_no_scatter_has_no_slowest() -> None:
    assert slowest_of(1, 0.5) == slowest_of(500, 0.0) == 1.0


def test_invalid_input_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one worker"):
        slowest_of(0, 0.1)


@given(some.integers(2, 10_000), some.floats(0.005, 1.0))
def test_the_spread_is_found_again(workers: int, spread: float) -> None:
    assert spread_of(workers, slowest_of(workers, spread)) == pytest.approx(spread, rel=1e-4)


def test_a_slowest_that_is_not_slower_shows_no_spread() -> None:
    assert spread_of(8, 0.99) == spread_of(1, 1.3) == 0.0
