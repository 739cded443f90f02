"""The median of censored times: by hand, by R, and over simulated experiments."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from fireassay.stats.intervals.censored_median import CensoredMedian, censored_median, median_of_bounded
from fireassay.stats.intervals.intervals import log_t

Draw = Callable[[np.random.Generator, int], NDArray[np.float64]]


def test_the_median_is_that_of_r_on_the_leukaemia_data() -> None:
    """survival::aml, `survfit(Surv(time, status) ~ x)`: medians 31 and 23 weeks; the first has no upper bound there either."""
    kept = ([9, 13, 13, 18, 23, 28, 31, 34, 45, 48, 161], "ooxooxooxox")  # x: censored
    other = ([5, 5, 8, 8, 12, 16, 23, 27, 30, 33, 43, 45], "oooooxoooooo")
    first, second = (censored_median(times, [mark == "o" for mark in marks], 0.95) for times, marks in (kept, other))
    assert (first.value, second.value) == (31.0, 23.0)
    assert math.isinf(first.high)
    assert second.low <= 8.0 <= second.high < 45.0


def test_where_the_survival_stays_at_one_half_the_median_is_the_middle_of_that_stretch() -> None:
    assert censored_median([1.0, 2.0, 4.0, 9.0], [True] * 4, 0.95).value == 3.0  # as that of a sample


def test_a_censored_launch_moves_the_median_up_and_is_not_dropped() -> None:
    """S after 1, 2, 3 is 4/5, 3/5, 2/5: the median is 3, though that of the four that ended is 2.5."""
    median = censored_median([1.0, 2.0, 3.0, 4.0, 9.0], [True, True, True, True, False], 0.95)
    assert (median.value, median.high) == (3.0, math.inf)


def test_without_half_of_the_launches_there_is_no_median_but_a_lower_bound() -> None:
    """Each of eight is longer than 5: were the median below, the chance of that would be at most 1/256."""
    median = censored_median([5.0] * 8, [False] * 8, 0.95)
    assert (median.value, median.high) == (None, math.inf)
    assert math.isclose(median.low, 5.0)


def test_the_ends_of_six_launches_lie_between_the_outermost_two() -> None:
    """Outside of the smallest and the largest of six lies 2 / 2^6 = 3.1 %, less than 5 %; of the next two 2 x 7 / 2^6 = 22 %."""
    median = censored_median([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [True] * 6, 0.95)
    assert 1.0 < median.low < 2.0
    assert 5.0 < median.high < 6.0
    assert median.ranks


def test_five_launches_need_a_little_beyond_their_ends() -> None:
    """2 / 2^5 = 6.25 % lie outside of all five."""
    median = censored_median([1.0, 2.0, 4.0, 8.0, 16.0], [True] * 5, 0.95)
    assert 0.5 < median.low < 1.0
    assert 16.0 < median.high < 32.0
    assert math.isclose(median.low * median.high, 16.0, rel_tol=1e-6)  # symmetric on the logarithm


def test_three_launches_are_bounded_by_students_t_if_all_reach_it_and_by_nothing_if_not() -> None:
    times = [1.0, 2.0, 3.0]
    t, open_ = log_t(times, 0.95), censored_median(times, [True, True, False], 0.95)
    assert censored_median(times, [True] * 3, 0.95) == CensoredMedian(value=2.0, low=t.low, high=t.high, ranks=False)
    assert (open_.value, open_.low, open_.high) == (2.0, 0.0, math.inf)


def test_launches_that_crash_before_the_first_event_leave_the_others_to_students_t() -> None:
    """At no event were they at risk: four launches are left, whose ranks bound nothing; one that crashed later leaves the end open."""
    others = [2.0, 3.0, 4.0, 5.0]
    t, early = log_t(others, 0.95), censored_median([1.0, *others], [False] + [True] * 4, 0.95)
    assert early == CensoredMedian(value=3.5, low=t.low, high=t.high, ranks=False)
    assert math.isinf(censored_median([*others, 6.0], [True] * 4 + [False], 0.95).high)


def test_one_launch_bounds_nothing() -> None:
    assert censored_median([3.0], [True], 0.95) == CensoredMedian(value=3.0, low=0.0, high=math.inf, ranks=False)
    assert censored_median([3.0], [False], 0.95) == CensoredMedian(value=None, low=0.0, high=math.inf, ranks=True)


@pytest.mark.parametrize(("times", "flags"), [([], []), ([1.0], []), ([0.0], [True]), ([math.nan], [True]), ([math.inf], [False])])
def test_what_is_no_time_is_refused(times: list[float], flags: list[bool]) -> None:
    with pytest.raises(ValueError, match=r"times|number|finite"):
        censored_median(times, flags, 0.95)


def test_a_ratio_known_on_one_side_leaves_that_side_open() -> None:
    logs = [math.log(x) for x in (1.0, 2.0, 3.0, 4.0, 5.0)]
    whole = median_of_bounded(logs, logs, 0.95)
    open_above = median_of_bounded(logs, [*logs[:4], math.inf], 0.95)
    assert (whole.value, open_above.value) == (pytest.approx(3.0), pytest.approx(3.0))
    assert (open_above.low, open_above.high) == (whole.low, math.inf)
    assert median_of_bounded([-math.inf] * 3 + logs[3:], logs, 0.95).value is None


TIMES = st.lists(st.tuples(st.floats(1e-6, 1e9), st.booleans()), min_size=1, max_size=25)


@settings(deadline=None, max_examples=150)
@given(TIMES)
def test_the_interval_holds_the_value_and_scales_with_the_unit(launches: list[tuple[float, bool]]) -> None:
    times, flags = [time for time, _ in launches], [flag for _, flag in launches]
    median, scaled = censored_median(times, flags, 0.95), censored_median([60.0 * time for time in times], flags, 0.95)
    assert 0.0 <= median.low <= (median.value if median.value is not None else median.high) <= median.high
    for one, other in zip((median.value, median.low, median.high), (scaled.value, scaled.low, scaled.high), strict=True):
        assert (one is None) == (other is None)
        assert one is None or other is None or one == other or math.isclose(60.0 * one, other, rel_tol=1e-6)


@settings(deadline=None, max_examples=80)
@given(TIMES)
def test_waiting_longer_never_shortens_the_answer(launches: list[tuple[float, bool]]) -> None:
    """A censored launch that ran on until after every other one ended moves no end down."""
    times, flags = [time for time, _ in launches], [flag for _, flag in launches]
    before = censored_median(times, flags, 0.95)
    later = [time if flag else 2.0 * max(times) for time, flag in launches]
    after = censored_median(later, flags, 0.95)
    if before.value is not None and after.value is not None:
        assert after.value >= before.value or math.isclose(after.value, before.value)


def lognormal(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    return np.exp(0.3 * rng.normal(size=n))


def weibull(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    return rng.weibull(2.0, n) / math.log(2.0) ** 0.5  # its median is 1


def coverage(draw: Draw, n: int, share: float, experiments: int, seed: int, *, crashes: bool = False) -> float:
    """The share of intervals that hold the true median of 1. Censored: at one time that a share of launches passes, or by crashes."""
    rng = np.random.default_rng(seed)
    many = draw(np.random.default_rng(0), 200_000)
    end = math.inf if share == 0.0 else float(np.quantile(many, 1.0 - share))
    late = float(np.quantile(many, 0.95))
    hits = 0
    for _ in range(experiments):
        times = draw(rng, n)
        ends = np.where(rng.random(n) < share, rng.random(n) * late, math.inf) if crashes else np.full(n, end)
        median = censored_median(np.minimum(times, ends), list(times <= ends), 0.95)
        hits += median.low <= 1.0 <= median.high
    return hits / experiments


def test_a_few_hundred_experiments_are_covered_as_often_as_stated() -> None:
    """400 at a true 95 %: 3.3 standard errors are 3.6 points."""
    assert 0.914 <= coverage(lognormal, 5, 0.2, 400, seed=1) <= 0.986


@pytest.mark.deep
@pytest.mark.parametrize("draw", [lognormal, weibull])
@pytest.mark.parametrize(("n", "share"), [(n, share) for n in (5, 8, 20) for share in (0.0, 0.2, 0.4)])
def test_over_two_thousand_experiments_95_percent_intervals_cover_94_to_97_percent(draw: Draw, n: int, share: float) -> None:
    """All launches are cut at one time, as those of one budget of epochs are. Two standard errors of 2,000 are one point."""
    assert 0.93 <= coverage(draw, n, share, 2_000, seed=7) <= 0.98


@pytest.mark.deep
@pytest.mark.parametrize("draw", [lognormal, weibull])
@pytest.mark.parametrize(("n", "share"), [(n, share) for n in (5, 8, 20) for share in (0.2, 0.4)])
def test_crashes_at_any_time_make_the_interval_wider_and_never_false(draw: Draw, n: int, share: float) -> None:
    """Up to 97 % with five launches: where at most one of them is left, nothing is bounded and everything is covered."""
    assert 0.93 <= coverage(draw, n, share, 2_000, seed=11, crashes=True) <= 0.975


@pytest.mark.deep
@pytest.mark.parametrize("share", [0.0, 0.2, 0.4])
def test_paired_ratios_with_censored_rounds_are_covered_at_least_as_often_as_stated(share: float) -> None:
    """Two worker counts that share a round's luck; the true ratio is 2. A censored launch leaves its round known on one side."""
    rng, hits = np.random.default_rng(3), 0
    end = math.inf if share == 0.0 else float(np.quantile(2.0 * lognormal(np.random.default_rng(0), 200_000), 1.0 - share))
    for _ in range(2_000):
        luck = np.exp(0.3 * rng.normal(size=5))
        base, own = 2.0 * luck * np.exp(0.1 * rng.normal(size=5)), luck * np.exp(0.1 * rng.normal(size=5))
        logs = np.log(np.minimum(base, end) / np.minimum(own, end))
        median = median_of_bounded(list(np.where(own <= end, logs, -math.inf)), list(np.where(base <= end, logs, math.inf)), 0.95)
        hits += median.low <= 2.0 <= median.high
    assert hits / 2_000 >= 0.93
