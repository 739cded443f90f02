"""Do the intervals of percentiles have the published ranks, and are percentiles refused that the data cannot carry?"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from fireassay.stats.intervals.intervals import order_ranks
from fireassay.stats.intervals.quantiles import cluster_woodruff, least_two_sided
from tests.tiers import some


def ramps(step: float) -> list[np.ndarray]:
    """T17: launch i holds j + step i for j = 1 ... 1000."""
    return [np.arange(1.0, 1001.0) + step * i for i in range(5)]


# From the binomial distribution
@pytest.mark.parametrize(("n", "ranks"), [(367, (359, None)), (368, (360, 368)), (10_000, (9880, 9920))])
def test_the_exact_ranks_of_p99_are_the_binomial_ones(n: int, ranks: tuple[int, int | None]) -> None:
    assert order_ranks(n, 0.99, 0.95) == ranks


@pytest.mark.parametrize(("n", "coverage"), [(368, 0.96242), (10_000, 0.95575)])
def test_the_exact_interval_covers_what_the_binomial_says(n: int, coverage: float) -> None:
    low, high = order_ranks(n, 0.99, 0.95)
    assert low is not None
    assert high is not None
    binomial = stats.binom(n, 0.99)
    assert binomial.cdf(high - 1) - binomial.cdf(low - 1) == pytest.approx(coverage, abs=5e-6)


# percentile -> n at 95 % and at 99 %
@pytest.mark.parametrize(("p", "n95", "n99"), [(0.99, 368, 528), (0.999, 3688, 5296)])
def test_a_two_sided_interval_needs_the_published_number(p: float, n95: int, n99: int) -> None:
    assert (least_two_sided(p, 0.95), least_two_sided(p, 0.99)) == (n95, n99)


@pytest.mark.parametrize(("p", "n"), [(0.5, 6), (0.9, 36), (0.95, 72), (0.99, 368), (0.1, 36), (0.999, 3688)])
def test_the_least_number_is_the_first_that_has_both_ranks(p: float, n: int) -> None:
    assert least_two_sided(p, 0.95) == n
    assert None in order_ranks(n - 1, p, 0.95)
    assert None not in order_ranks(n, p, 0.95)


# (step, p) -> value, half-width of the probability, low, high
@pytest.mark.parametrize(
    ("step", "p", "expected"),
    [(10, 0.90, (920.1, 0.0196324, 901, 940)), (10, 0.99, (1014.0, 0.0139818, 997, math.inf)), (2, 0.99, (994.01, 0.00392649, 991, 999))],
)
def test_cluster_woodruff_on_ramps_is_the_one_worked_out(step: float, p: float, expected: tuple[float, ...]) -> None:
    got = cluster_woodruff(ramps(step), p, 0.95)
    assert (got.value, got.half_width, got.low, got.high) == pytest.approx(expected, rel=1e-5)
    assert (got.n, got.k) == (5000, 5)


def test_ramps_are_one_event_per_launch_and_carry_no_percentile() -> None:
    """What lies above the quantile of a ramp comes in one run: five events, whatever the number of trials."""
    got = cluster_woodruff(ramps(2), 0.99, 0.95)
    assert got.n_eff * 0.01 < 10
    assert "p99 needs 10 independent trials beyond it, and 5000 trials with an autocorrelation time of" in got.insufficient


def test_shuffled_ramps_carry_the_percentile_that_their_number_allows() -> None:
    rng = np.random.default_rng(3)
    got = cluster_woodruff([rng.permutation(series) for series in ramps(2)], 0.99, 0.95)
    assert (got.low, got.high, got.insufficient, got.launches_needed) == (991.0, 999.0, "", None)
    assert got.tau == pytest.approx(1.0, abs=0.2)
    assert got.n_eff == got.n / got.tau


def test_an_open_end_is_insufficient_and_says_how_many_launches_would_close_it() -> None:
    rng = np.random.default_rng(3)
    got = cluster_woodruff([rng.permutation(series) for series in ramps(10)], 0.99, 0.95)
    assert got.high == math.inf
    assert got.n_eff * 0.01 >= 10
    # sd(f) = 0.011256, so t[k-1] 0.011256/sqrt(k) <= 0.01 - 1/N needs k = 8: 0.00941; k = 7 gives 0.01041
    assert got.launches_needed == 8
    assert got.insufficient.startswith("the 5 launches differ so much beyond p99 that its interval is open")
    assert "about 8 launches of this length" in got.insufficient


def test_where_launches_differ_for_good_longer_ones_are_not_advised() -> None:
    """Five launches at five levels are five values, of which the exact interval of a median needs six."""
    rng = np.random.default_rng(3)
    apart = cluster_woodruff(rng.normal(size=(5, 40)) / 10 + np.arange(5)[:, np.newaxis], 0.5, 0.95)
    assert (apart.trials_needed, "trials in each" in apart.insufficient) == (None, False)
    assert apart.launches_needed
    assert apart.launches_needed > 5
    alike = cluster_woodruff(rng.normal(size=(5, 40)), 0.99, 0.95)
    assert f"or {alike.trials_needed} trials in each of the 5, would do" in alike.insufficient


@pytest.mark.parametrize("k", [1, 2])
def test_fewer_than_three_launches_carry_no_percentile_whatever_their_length(k: int) -> None:
    got = cluster_woodruff(np.random.default_rng(1).random((k, 5000)), 0.5, 0.95)
    assert got.launches_needed == 3
    assert f"at least 3 launches, whose spread is its uncertainty, not {k}" in got.insufficient


def test_ten_independent_trials_must_lie_beyond_and_copies_are_none() -> None:
    """p90 of 10 launches: 200 trials have 20 beyond it, 80 have 8, and 80 that come five times each have 8 still."""
    values = np.random.default_rng(5).random((10, 20))
    assert cluster_woodruff(values, 0.9, 0.95).insufficient == ""
    for few in (values[:, :8], np.repeat(values[:, :8], 5, axis=1)):
        assert "p90 needs 10 independent trials beyond it" in cluster_woodruff(few, 0.9, 0.95).insufficient


def test_a_trial_that_comes_five_times_counts_once() -> None:
    values = np.random.default_rng(5).random((5, 400))
    once, five = cluster_woodruff(values, 0.9, 0.95), cluster_woodruff(np.repeat(values, 5, axis=1), 0.9, 0.95)
    assert five.n == 5 * once.n
    assert five.n_eff == pytest.approx(once.n_eff, rel=0.2)


def test_the_stated_need_is_sufficient() -> None:
    rng = np.random.default_rng(8)
    short = cluster_woodruff(rng.exponential(size=(5, 100)), 0.99, 0.95)
    assert short.launches_needed
    assert short.trials_needed
    assert cluster_woodruff(rng.exponential(size=(2 * short.launches_needed, 100)), 0.99, 0.95).insufficient == ""
    assert cluster_woodruff(rng.exponential(size=(5, 3 * short.trials_needed)), 0.99, 0.95).insufficient == ""


def test_launches_of_unequal_length_weigh_by_their_trials() -> None:
    """Shares above: 2/10, 2/20, 0/10 round 4/40; weights n_i/mean(n) = .75, 1.5, .75; sd = sqrt((.075^2 + .075^2)/2)."""
    launches = [[9.0, 9.0, *[1.0] * 8], [9.0, 9.0, *[1.0] * 18], [1.0] * 10]
    got = cluster_woodruff(launches, 0.85, 0.9)
    t, sd = 2.919986, 0.075  # t[.95, 2]
    assert got.half_width == pytest.approx(t * sd / math.sqrt(3), rel=1e-6)


def test_the_order_of_launches_and_the_unit_do_not_matter() -> None:
    launches = np.random.default_rng(2).lognormal(size=(6, 300))
    a, b = cluster_woodruff(launches, 0.9, 0.95), cluster_woodruff(1e3 * launches[::-1], 0.9, 0.95)
    assert (b.value, b.low, b.high) == pytest.approx((1e3 * a.value, 1e3 * a.low, 1e3 * a.high))
    assert b.tau == pytest.approx(a.tau)


def test_equal_trials_have_an_interval_of_width_zero() -> None:
    got = cluster_woodruff([[2.0] * 100] * 5, 0.9, 0.95)
    assert (got.value, got.low, got.high, got.tau, got.insufficient) == (2.0, 2.0, 2.0, 1.0, "")


def test_a_low_percentile_is_judged_by_its_own_side() -> None:
    values = -np.random.default_rng(4).exponential(size=(5, 2000))
    low, high = cluster_woodruff(values, 0.01, 0.95), cluster_woodruff(-values, 0.99, 0.95)
    assert low.insufficient == high.insufficient == ""
    assert (low.value, low.low, low.high) == pytest.approx((-high.value, -high.high, -high.low), rel=0.02)
    assert cluster_woodruff(ramps(10), 0.01, 0.95).low == -math.inf


@pytest.mark.parametrize("launches", [[], [[]], [[1.0, math.nan]], [[math.inf]], [[[1.0]]]])
def test_series_without_finite_numbers_are_refused(launches: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="values|launch"):
        cluster_woodruff(launches, 0.9, 0.95)


def mm1(rng: np.random.Generator, load: float, k: int, n: int) -> np.ndarray:
    """Times in M/M/1 systems, [k, n], by Lindley's recursion as a cumulative sum less its running minimum; 4000 dropped."""
    service = rng.exponential(size=(k, n + 4000))
    steps = np.zeros_like(service)
    steps[:, 1:] = service[:, :-1] - rng.exponential(1 / load, size=(k, n + 3999))
    walk = steps.cumsum(axis=1)
    return np.asarray((walk - np.minimum.accumulate(walk, axis=1) + service)[:, 4000:])


@pytest.mark.slow
def test_a_queue_at_load_nine_tenths_seen_too_shortly_is_refused() -> None:
    rng = np.random.default_rng(90)
    refused = sum(cluster_woodruff(mm1(rng, 0.9, 10, 2000), 0.99, 0.95).insufficient != "" for _ in range(60))
    assert refused >= 54


def test_the_wait_is_the_known_one_on_average() -> None:
    """The simulator itself: the mean time in the system at load .5 is 1/(1 - .5) = 2."""
    assert mm1(np.random.default_rng(1), 0.5, 50, 20_000).mean() == pytest.approx(2.0, rel=0.02)


@pytest.mark.parametrize("p", [0.0, 1.0, 99.0, math.nan])
def test_a_probability_outside_0_to_1_is_refused(p: float) -> None:
    for call in (lambda: cluster_woodruff([[1.0]], p, 0.95), lambda: least_two_sided(p, 0.95)):
        with pytest.raises(ValueError, match="strictly between 0 and 1"):
            call()


@pytest.mark.slow
@pytest.mark.parametrize("load", some([0.8, 0.5]))
@pytest.mark.deep
def test_p99_of_a_queue_is_covered_where_the_exact_interval_fails(load: float) -> None:
    """60 experiments of 10 x 10,000 (300 in benchmarks/tails.py): at least 90 % - 3 standard errors; naive 53 and 17 %."""
    rng, truth = np.random.default_rng([99, int(10 * load)]), math.log(100) / (1 - load)
    low, high = order_ranks(100_000, 0.99, 0.95)
    assert low is not None
    assert high is not None
    own, naive = 0, 0
    for _ in range(60):
        launches = mm1(rng, load, 10, 10_000)
        tail, pool = cluster_woodruff(launches, 0.99, 0.95), np.sort(launches, axis=None)
        own += tail.low <= truth <= tail.high
        naive += pool[low - 1] <= truth <= pool[high - 1]
    assert own >= 60 * (0.90 - 3 * math.sqrt(0.9 * 0.1 / 60))
    assert naive <= 60 * 0.75
