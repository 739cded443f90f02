"""Is the expected best of k exact, unbiased, and covered by its interval over items?"""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.stats.best_of import expected_best, expected_chosen, weights
from fireassay.stats.intervals.item_means import of_items

VALUES = st.lists(st.integers(-5, 5), min_size=1, max_size=7)


@pytest.mark.parametrize(("n", "k"), [(1, 1), (9, 1), (9, 4), (9, 9), (300, 7)])
def test_the_weights_are_those_of_order_statistics(n: int, k: int) -> None:
    assert weights(n, k) == pytest.approx([comb(i - 1, k - 1) / comb(n, k) for i in range(1, n + 1)], abs=1e-15)


@given(VALUES, st.data())
def test_every_subset_counts_once(values: list[int], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(values)))
    subsets = list(combinations(values, k))
    assert expected_best(np.array(values, dtype=float), k) == pytest.approx(sum(map(max, subsets)) / len(subsets))


@given(VALUES, st.data())
def test_of_tied_candidates_each_is_chosen_alike(by: list[int], data: st.DataObject) -> None:
    of = data.draw(st.lists(st.integers(-9, 9), min_size=len(by), max_size=len(by)))
    k = data.draw(st.integers(1, len(by)))
    chosen = []
    for subset in combinations(range(len(by)), k):
        most = max(by[index] for index in subset)
        tied = [of[index] for index in subset if by[index] == most]
        chosen.append(sum(tied) / len(tied))
    assert expected_chosen(np.array(by, dtype=float), np.array(of, dtype=float), k) == pytest.approx(sum(chosen) / len(chosen))


@pytest.mark.parametrize("k", [1, 2, 5, 9])
def test_it_is_unbiased_over_2000_simulations(k: int) -> None:
    """The best of k uniform values is k / (k + 1) on average; its mean over simulations lies within four standard errors."""
    rng = np.random.default_rng(43)
    found = np.array([expected_best(row, k) for row in rng.random((2000, 9))])
    assert abs(found.mean() - k / (k + 1)) < 4.0 * found.std(ddof=1) / np.sqrt(len(found))


@pytest.mark.parametrize("k", [1, 4, 9])
def test_the_interval_over_items_covers_95_percent(k: int) -> None:
    """60 prompts of unequal difficulty, 9 candidates each: the truth is that of another prompt, half of 0.5 + k / (k + 1)."""
    rng, draws, truth = np.random.default_rng(44), 1500, 0.5 * (0.5 + k / (k + 1))
    covered = 0
    for _ in range(draws):
        scores = 0.5 * (rng.random(60)[:, None] + rng.random((60, 9)))
        interval = of_items(np.sort(scores, axis=1) @ weights(9, k), np.ones(60), None, (0.0, 1.0), 0.95)
        covered += interval.low <= truth <= interval.high
    assert 0.935 <= covered / draws <= 0.965


@pytest.mark.parametrize(("n", "k"), [(3, 4), (3, 0), (0, 1)])
def test_more_than_there_are_is_refused(n: int, k: int) -> None:
    with pytest.raises(ValueError, match="needs as many values"):
        weights(n, k)
