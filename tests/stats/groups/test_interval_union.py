"""Sets of times: against a set of whole nanoseconds, which needs no cleverness."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from fireassay.frames.training.communication.kernel_trace import both, length, union, within, without

INTERVALS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=12)


def ticks(intervals: object) -> set[int]:
    return {tick for begin, end in intervals for tick in range(begin, end)}  # type: ignore[attr-defined]


@given(INTERVALS, INTERVALS, st.integers(0, 40), st.integers(0, 40))
def test_they_are_what_sets_of_ticks_say(some: list[tuple[int, int]], others: list[tuple[int, int]], begin: int, end: int) -> None:
    a, b = union(some), union(others)
    assert ticks(a) == ticks(some)
    assert ticks(both(a, b)) == ticks(some) & ticks(others)
    assert ticks(without(a, b)) == ticks(some) - ticks(others)
    assert ticks(within(a, begin, end)) == ticks(some) & set(range(begin, end))
    for one in (a, both(a, b), without(a, b)):
        assert length(one) == len(ticks(one))
    assert all(x[1] < y[0] for x, y in pairwise(a))  # a union's parts do not touch


def test_three_at_once_are_not_three_times_as_long() -> None:
    assert length(union([(0, 10), (0, 10), (5, 12)])) == 12
