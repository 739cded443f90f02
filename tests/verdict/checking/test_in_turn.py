"""When may a gate stop?  At a slowdown that is shown and beyond the margin, or once one beyond the margin is excluded."""

from __future__ import annotations

import pytest

from fireassay.verdict.checking.in_turn import MIN_PAIRS, Rule

SCATTER = (0.99, 1.01, 1.0, 0.995, 1.005, 1.0)
RULE = Rule(margin=0.05)


def sides(ratio: float, pairs: int = 6) -> tuple[dict[int, float], dict[int, float]]:
    return dict.fromkeys(range(pairs), 2.0), {block: 2.0 * ratio * SCATTER[block] for block in range(pairs)}


@pytest.mark.parametrize(
    ("ratio", "state"), [(1.08, "regression"), (1.03, "pass"), (1.0, "pass"), (0.9, "improvement"), (0.97, "pass"), (1.049, "inconclusive")]
)
def test_a_slowdown_up_to_the_margin_is_tolerated(ratio: float, state: str) -> None:
    assert RULE.now(*sides(ratio))[0] == state


def test_of_a_metric_that_should_be_high_less_is_worse() -> None:
    assert Rule(margin=0.05, better="higher").now(*sides(0.9))[0] == "regression"


def test_a_floor_of_the_machine_at_the_margin_decides_nothing() -> None:
    assert Rule(margin=0.05, floor=0.06).now(*sides(1.0))[0] == "inconclusive"


def test_only_common_blocks_count_and_fewer_than_three_decide_nothing() -> None:
    base, change = sides(1.5)
    assert RULE.now(base, {block: change[block] for block in range(MIN_PAIRS - 1)}) == ("inconclusive", None)
    found = RULE.now(base, {block: value for block, value in change.items() if block != 3})[1]
    assert found is not None
    assert (found.k_a, found.k_b) == (5, 5)
