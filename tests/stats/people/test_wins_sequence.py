"""Is a winner named wrongly at most as often as said, whenever somebody looks?"""

from __future__ import annotations

import math

import numpy as np
import pytest

from fireassay.stats.people.wins_sequence import STAKES, stop
from tests.tiers import drawn


def test_the_capital_is_that_of_a_hand_computation() -> None:
    values, growth = [1.0, 0.5, 1.0], 0.0
    for stake in STAKES:
        growth += math.prod(1.0 + stake / 0.5 * (value - 0.5) for value in values) / len(STAKES)
    found = stop(values, 0.05)
    assert found.capital == pytest.approx(growth)
    assert (found.verdict, found.decided_at, found.needed, found.share) == ("go on", None, 40.0, pytest.approx(2.5 / 3.0))


def test_a_side_that_always_wins_is_named_early_and_both_directions_are_alike() -> None:
    up, down = stop([1.0] * 30, 0.05), stop([0.0] * 30, 0.05)
    assert (up.verdict, down.verdict) == ("better", "worse")
    assert up.decided_at == down.decided_at
    assert up.decided_at is not None
    assert up.decided_at <= 10


@pytest.mark.slow
@pytest.mark.parametrize("ties", [0.0, 0.4])
def test_equal_sides_are_rarely_called_unequal_at_any_of_many_looks(ties: float) -> None:
    rng, runs = np.random.default_rng(7), drawn(400, 2000)
    wrong = 0
    for _ in range(runs):
        values = np.where(rng.random(500) < ties, 0.5, rng.integers(0, 2, 500))
        wrong += stop(values, 0.05).verdict != "go on"
    assert wrong / runs <= 0.05 + 2.0 * math.sqrt(0.05 * 0.95 / runs)


def test_nothing_seen_says_nothing_and_other_numbers_are_refused() -> None:
    assert stop([], 0.05).verdict == "go on"
    for values, risk in (([2.0], 0.05), ([0.5], 0.0), ([math.nan], 0.05)):
        with pytest.raises(ValueError, match="from 0 to 1"):
            stop(values, risk)
