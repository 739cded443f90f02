"""Are there few looks, do they pay for themselves, and is "narrow" what people mean by it?"""

from __future__ import annotations

import math

import numpy as np
import pytest

from fireassay.stats.comparing.comparison import compare_welch
from fireassay.stats.comparing.multiplicity import (
    analysis_confidence,
    comparison_confidence,
    decision_confidence,
    expected_launches,
    narrow_enough,
    next_analysis,
)
from fireassay.stats.intervals.intervals import Interval, log_t, t_quantile


def test_the_looks_are_those_of_the_methodology() -> None:
    """5, 8, 12, 18, 27, then half as many again, rounded up: 40.5 -> 41, 61.5 -> 62."""
    looks = [next_analysis(0)]
    while len(looks) < 7:
        looks.append(next_analysis(looks[-1]))
    assert looks == [5, 8, 12, 18, 27, 41, 62]


@pytest.mark.parametrize(("made", "look"), [(0, 5), (4, 5), (5, 8), (6, 8), (26, 27), (27, 41)])
def test_an_interrupted_run_goes_on_to_the_next_planned_look(made: int, look: int) -> None:
    assert next_analysis(made) == look


def test_every_look_is_made_at_half_of_the_error() -> None:
    assert analysis_confidence(0.95) == pytest.approx(0.975)
    assert analysis_confidence(0.9) == pytest.approx(0.95)


@pytest.mark.parametrize(
    ("low", "high", "narrow"), [(9.8, 10.2, True), (9.79, 10.1, False), (9.9, 10.21, False), (0.0, math.inf, False), (10.0, 10.0, True)]
)
def test_both_bounds_lie_within_the_precision_of_the_value(low: float, high: float, narrow: bool) -> None:
    assert narrow_enough(Interval(value=10.0, low=low, high=high), 0.02) is narrow


def test_a_score_of_zero_is_narrow_only_without_any_width() -> None:
    assert narrow_enough(Interval(value=0.0, low=0.0, high=0.0), 0.02)
    assert not narrow_enough(Interval(value=0.0, low=-1e-9, high=1e-9), 0.02)


@pytest.mark.parametrize(("cv", "precision", "k"), [(0.0, 0.02, 5), (0.01, 0.02, 5), (0.02, 0.02, 12), (0.05, 0.02, 41)])
def test_expected_launches_are_the_first_look_at_which_t_is_small_enough(cv: float, precision: float, k: int) -> None:
    """t[.9875] cv/sqrt(k) against log(1.02) = .0198: cv 2 %: k 8 -> 2.841 x .02/2.828 = .0201, k 12 -> 2.593 x .02/3.464 = .0150;
    cv 5 %: k 27 -> 2.379 x .05/5.196 = .0229, k 41 -> 2.329 x .05/6.403 = .0182 (t from tables of Student's distribution)."""
    assert expected_launches(cv, precision) == k


def test_an_impossible_precision_says_so() -> None:
    with pytest.raises(ValueError, match="relax the precision"):
        expected_launches(1.0, 1e-5)
    with pytest.raises(ValueError, match="fraction above 0"):
        narrow_enough(Interval(value=1.0, low=1.0, high=1.0), 0.0)
    with pytest.raises(ValueError, match="at least 0"):
        next_analysis(-1)


@pytest.mark.parametrize("ratio", [0.8, 1.6, 3.0])
def test_the_interval_at_which_one_stops_covers_the_truth_and_a_plain_one_does_not(ratio: float) -> None:
    """300 runs to 2 % precision, launches with cv = ratio x precision: at least 95 - 1.5 % - 3 SE.  benchmarks/comparison.py has more."""
    rng = np.random.default_rng(1)
    covered = [_covers(np.exp(rng.normal(0.0, ratio * 0.02, 200)), analysis_confidence(0.95)) for _ in range(300)]
    assert np.mean(covered) >= 0.935 - 3 * math.sqrt(0.95 * 0.05 / 300)


@pytest.mark.slow
def test_two_equal_sides_that_stopped_when_they_were_narrow_seldom_differ() -> None:
    """cv = 1.6 x precision, the worst of benchmarks/comparison.py (g): at most 5 % + 3 SE of 400; a plain t of 95 % calls 9 %."""
    rng, plain, paid = np.random.default_rng(2), 0, 0
    for _ in range(400):
        a, b = (_stopped(np.exp(rng.normal(0.0, 0.032, 200)), analysis_confidence(0.95)) for _ in "ab")
        p = compare_welch(a, b, smallest_effect=0.0).p_value
        plain, paid = plain + (p < 0.05), paid + (p < 1.0 - comparison_confidence(0.95, 2))
    assert paid <= 400 * (0.05 + 3 * math.sqrt(0.05 * 0.95 / 400)) < 400 * 0.09
    assert plain > paid


def test_a_comparison_pays_for_each_adaptive_side() -> None:
    assert [comparison_confidence(0.95, looked) for looked in (0, 1, 2, 5)] == pytest.approx([0.95, 0.975, 0.98, 0.98])
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        comparison_confidence(1.0, 0)


def test_the_errors_of_all_looks_for_a_decision_add_up_to_less_than_the_allowed_one() -> None:
    """1/(i (i + 1)) telescopes: after n looks the sum is 1 - 1/(n + 1)."""
    spent = [1.0 - decision_confidence(0.95, look) for look in range(1, 101)]
    assert spent[0] == pytest.approx(0.025)
    assert sum(spent) == pytest.approx(0.05 * (1.0 - 1.0 / 101))
    with pytest.raises(ValueError, match="from 1"):
        decision_confidence(0.95, 0)


@pytest.mark.slow
def test_a_truth_at_the_limit_is_decided_wrongly_in_at_most_the_allowed_share() -> None:
    """Looks after 3, 5, 8, 12, 18 and 27 launches, 20,000 runs: at most 5 %; 1 - alpha/2 at each look decides twice as often."""
    looks, rng = (3, 5, 8, 12, 18, 27), np.random.default_rng(3)
    values = rng.standard_normal((20_000, looks[-1]))
    paid, halved = np.zeros(20_000, dtype=bool), np.zeros(20_000, dtype=bool)
    for number, k in enumerate(looks, start=1):
        error = np.abs(values[:, :k].mean(axis=1)) / values[:, :k].std(axis=1, ddof=1) * math.sqrt(k)
        paid |= error > t_quantile((1.0 + decision_confidence(0.95, number)) / 2.0, k - 1)
        halved |= error > t_quantile((1.0 + analysis_confidence(0.95)) / 2.0, k - 1)
    assert paid.mean() <= 0.05
    assert halved.mean() > 0.08


def _stopped(values: np.ndarray[tuple[int], np.dtype[np.float64]], confidence: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    k = next_analysis(0)
    while not narrow_enough(log_t(values[:k], confidence), 0.02) and next_analysis(k) <= len(values):
        k = next_analysis(k)
    return values[:k]


def _covers(values: np.ndarray[tuple[int], np.dtype[np.float64]], confidence: float) -> bool:
    k = next_analysis(0)
    while True:
        interval = log_t(values[:k], confidence)
        if narrow_enough(interval, 0.02) or next_analysis(k) > len(values):
            return interval.low <= 1.0 <= interval.high
        k = next_analysis(k)
