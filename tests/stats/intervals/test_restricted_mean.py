"""The mean up to a horizon: by hand, and over simulated experiments."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fireassay.stats.intervals.restricted_mean import restricted_mean


def test_a_launch_that_never_gets_there_counts_as_the_horizon() -> None:
    """(1 + 2 + 3 + 8) / 4."""
    assert restricted_mean([1.0, 2.0, 3.0, 8.0], [True, True, True, False], 8.0, 0.95).value == 3.5


def test_after_a_crash_it_is_the_area_under_the_curve() -> None:
    """Survival 1 until 2 s, 3/4 until 6 s (the crash at 4 s leaves two at risk), 3/8 until 8 s: 2 + 3 + 0.75."""
    assert restricted_mean([2.0, 4.0, 6.0, 8.0], [True, False, True, True], 8.0, 0.95).value == pytest.approx(5.75)


def test_the_area_ends_at_the_horizon() -> None:
    """(1 + 2 + 2) / 3, and within it."""
    mean = restricted_mean([1.0, 4.0, 9.0], [True, True, False], 2.0, 0.95)
    assert mean.value == pytest.approx(5.0 / 3.0)
    assert 0.0 < mean.low < mean.value < mean.high <= 2.0


def test_beyond_the_last_event_nothing_is_added() -> None:
    assert restricted_mean([1.0, 3.0], [True, True], 8.0, 0.95).value == 2.0


def test_launches_that_all_miss_it_are_bounded_below_by_the_exact_rule() -> None:
    """Of five at the horizon 10: the share that gets no further is at least 0.025^(1/5) = 0.478 with 97.5 %."""
    mean = restricted_mean([10.0] * 5, [False] * 5, 10.0, 0.95)
    assert (mean.value, mean.high) == (10.0, 10.0)
    assert mean.low == pytest.approx(10.0 * 0.025**0.2, rel=1e-6)


@pytest.mark.parametrize(("times", "horizon"), [([], 1.0), ([math.nan], 1.0), ([1.0], 2.0), ([1.0], 0.0)])
def test_a_horizon_beyond_the_times_is_refused(times: list[float], horizon: float) -> None:
    with pytest.raises(ValueError, match=r"times|horizon|finite"):
        restricted_mean(times, [False] * len(times), horizon, 0.95)


def coverage(n: int, share: float, experiments: int, *, crashes: bool) -> float:
    """The share of intervals that hold E min(T, horizon), log-normal times; the horizon is the largest time, as the metric takes it."""
    rng, many = np.random.default_rng(5), np.exp(0.3 * np.random.default_rng(0).normal(size=200_000))
    end = float(np.quantile(many, 1.0 - share))
    late, hits = float(np.quantile(many, 0.95)), 0
    for _ in range(experiments):
        times = np.exp(0.3 * rng.normal(size=n))
        ends = np.where(rng.random(n) < share, rng.random(n) * late, np.inf) if crashes else np.full(n, end)
        seen = np.minimum(times, ends)
        horizon = float(seen.max())
        mean = restricted_mean(seen, list(times <= ends), horizon, 0.95)
        hits += mean.low <= float(np.minimum(many[:20_000], horizon).mean()) <= mean.high
    return hits / experiments


@pytest.mark.deep
@pytest.mark.parametrize("crashes", [False, True])
@pytest.mark.parametrize("n", [5, 20])
def test_the_interval_covers_at_least_as_often_as_stated(n: int, crashes: bool) -> None:
    assert coverage(n, 0.2, 2_000, crashes=crashes) >= 0.94
