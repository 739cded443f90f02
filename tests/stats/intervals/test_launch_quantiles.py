"""Is the interval of a percentile from few launches the textbook one, and does it cover what it promises?"""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from fireassay.stats.intervals.quantiles import between_launches, carried, cluster_woodruff
from tests.tiers import some


def test_three_launches_whose_medians_differ_by_a_known_factor() -> None:
    """Medians 1, e and e^2 have logs 0, 1, 2 with standard deviation 1: half-width t(0.975, 2) / sqrt(3) = 2.4841."""
    launches = [np.linspace(0.5, 1.5, 101) * math.exp(place) for place in range(3)]
    tail = cluster_woodruff(launches, 0.5, 0.95)
    found = between_launches(tail, launches)
    assert found.value == tail.value == pytest.approx(float(np.quantile(np.concatenate(launches), 0.5)))
    half = stats.t.ppf(0.975, 2) / math.sqrt(3)
    assert half == pytest.approx(2.4841, abs=1e-4)
    assert math.log(found.high / found.value) == pytest.approx(half)
    assert math.log(found.value / found.low) == pytest.approx(half)


def test_one_launch_gives_a_value_and_no_bound() -> None:
    launches = [np.arange(1.0, 101.0)]
    found = between_launches(cluster_woodruff(launches, 0.5, 0.95), launches)
    assert (found.value, found.low, found.high) == (50.5, -math.inf, math.inf)


@pytest.mark.parametrize(
    ("sizes", "p", "enough"),
    [
        ((150, 150, 150), 0.95, True),
        ((99, 400, 400), 0.95, False),
        ((110, 110, 110), 0.95, False),
        ((20, 20, 20), 0.5, True),
        ((9, 40, 40), 0.5, False),
    ],
)  # 150 x 3 x 0.05 = 22 >= 20; 99 x 0.05 = 4.95 < 5 in one launch; 330 x 0.05 = 16 < 20; 60 x 0.5 >= 10; 9 x 0.5 < 5
def test_trials_must_lie_beyond_the_quantile_in_all_and_in_each(sizes: tuple[int, ...], p: float, enough: bool) -> None:
    rng = np.random.default_rng(4)  # shuffled: independent
    launches = [rng.permutation(np.arange(1.0, size + 1.0)) for size in sizes]
    assert carried(cluster_woodruff(launches, p, 0.95), launches) == enough


def test_that_launches_differ_does_not_count_as_dependence_within_them() -> None:
    rng = np.random.default_rng(4)
    launches = [rng.permutation(np.arange(1.0, 101.0)) * 10.0**place for place in range(3)]
    tail = cluster_woodruff(launches, 0.5, 0.95)
    assert tail.insufficient  # pooled, one launch lies wholly below the others
    assert carried(tail, launches)
    assert between_launches(tail, launches).high > 10 * tail.value  # and the interval says so


def test_values_that_have_no_logarithm_are_not_carried() -> None:
    launches = [np.concatenate([[0.0], np.ones(200)])] * 3
    assert not carried(cluster_woodruff(launches, 0.5, 0.95), launches)


def sojourns(rng: np.random.Generator, n: int, load: float) -> NDArray[np.float64]:
    """Times in an M/M/1 queue with mean service 1, after a burn-in, by Lindley's recursion."""
    gaps, work = rng.exponential(1.0 / load, n + 300), rng.exponential(1.0, n + 300)
    waited, found = 0.0, np.empty(n + 300)
    for place in range(n + 300):
        found[place] = waited + work[place]
        waited = max(0.0, found[place] - gaps[place])
    return found[300:]


@pytest.mark.slow
@pytest.mark.parametrize(("load", "k", "n", "p"), some([(0.5, 3, 1000, 0.95), (0.5, 3, 200, 0.5), (0.8, 3, 1000, 0.5)], rows=True))
@pytest.mark.deep
def test_the_interval_that_is_reported_covers_the_truth(load: float, k: int, n: int, p: float) -> None:
    """Sojourns are exponential with rate 1 - load (Kleinrock 1975), so the p-quantile is -ln(1 - p) / (1 - load)."""
    rng, truth = np.random.default_rng(11), -math.log(1.0 - p) / (1.0 - load)
    used = covered = 0
    for _ in range(200):
        launches = [sojourns(rng, n, load) for _ in range(k)]
        tail = cluster_woodruff(launches, p, 0.95)
        if not carried(tail, launches):
            continue
        low, high = tail.low, tail.high
        if tail.insufficient:
            found = between_launches(tail, launches)
            low, high = found.low, found.high
        used, covered = used + 1, covered + (low <= truth <= high)
    assert used >= 60
    assert covered / used >= 0.95 - 3.0 * math.sqrt(0.95 * 0.05 / used)


@pytest.mark.slow
def test_requests_in_bursts_are_not_taken_as_independent() -> None:
    """Bursts of 25 requests share 80 % of their log variance: 500 of them hold 20 independent values, one beyond p95."""
    rng = np.random.default_rng(3)
    refused = 0
    for _ in range(20):
        luck = np.repeat(rng.normal(size=(5, 4)), 25, axis=1)
        launches = list(np.exp(0.5 * (0.8**0.5 * luck + 0.2**0.5 * rng.normal(size=(5, 100)))))
        tail = cluster_woodruff(launches, 0.95, 0.95)
        refused += bool(tail.insufficient) and not carried(tail, launches)
    assert refused >= 19
