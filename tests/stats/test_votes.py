"""Is the expected vote of k of n samples exact?"""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.stats.votes import shares


@pytest.mark.parametrize(("k", "right"), [(1, 0.6), (2, 0.6), (3, 0.648), (4, 0.648), (5, 0.68256), (6, 0.68256), (7, 0.710208)])
@pytest.mark.parametrize("n", [7, 9])
def test_a_binary_vote_is_right_as_often_as_the_binomial_says(n: int, k: int, right: float) -> None:
    """P(more than k/2 of k right at 0.6), by hand: .6; .648 = .216 + .432; .68256; .710208. An even k is as good as k - 1."""
    total = 0.0
    for hits in range(n + 1):
        counts = [count for count in (hits, n - hits) if count]
        won, nothing = shares(counts, 0, k)
        assert nothing == 0.0
        total += math.comb(n, hits) * 0.6**hits * 0.4 ** (n - hits) * (won[0] if hits else 0.0)
    assert total == pytest.approx(right, abs=1e-12)


def enumerated(counts: list[int], blank: int, k: int) -> tuple[list[float], float]:
    """Every subset of k samples, and its most frequent answers."""
    samples: list[int | None] = [answer for answer, count in enumerate(counts) for _ in range(count)] + [None] * blank
    won, nothing, subsets = [0.0] * len(counts), 0.0, list(itertools.combinations(samples, k))
    for subset in subsets:
        votes = [sum(one == answer for one in subset) for answer in range(len(counts))]
        most = max(votes, default=0)
        winners = [answer for answer, number in enumerate(votes) if number == most and most > 0]
        nothing += not winners
        for answer in winners:
            won[answer] += 1.0 / len(winners)
    return [share / len(subsets) for share in won], nothing / len(subsets)


@given(st.lists(st.integers(1, 4), max_size=4), st.integers(0, 3), st.data())
def test_shares_are_those_of_all_subsets(counts: list[int], blank: int, data: st.DataObject) -> None:
    n = sum(counts) + blank
    if n == 0:
        return
    k = data.draw(st.integers(1, n))
    won, nothing = shares(counts, blank, k)
    expected, none = enumerated(counts, blank, k)
    assert won == pytest.approx(expected, abs=1e-12)
    assert nothing == pytest.approx(none, abs=1e-12)
    assert sum(won) + nothing == pytest.approx(1.0, abs=1e-12)


def test_tied_answers_share_the_vote() -> None:
    assert shares([2, 2], 0, 4) == ((0.5, 0.5), 0.0)
    assert shares([1, 1, 1], 1, 1) == ((0.25, 0.25, 0.25), 0.25)


def test_a_hundred_and_twenty_eight_samples_are_counted() -> None:
    won, nothing = shares([64, 64], 0, 127)
    assert won == pytest.approx((0.5, 0.5))
    assert nothing == 0.0


@pytest.mark.parametrize(("counts", "blank", "k"), [([1], 0, 2), ([1], 0, 0), ([0, 1], 0, 1), ([1], -1, 1), ([129], 0, 1)])
def test_impossible_votes_are_refused(counts: list[int], blank: int, k: int) -> None:
    with pytest.raises(ValueError, match="a vote of"):
        shares(counts, blank, k)
