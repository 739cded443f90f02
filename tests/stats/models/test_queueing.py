"""Are the closed forms those of the books, and are hidden waits found again?"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.stats.models.queueing import little


@given(st.lists(st.tuples(st.floats(0, 90), st.floats(0, 10)), min_size=1, max_size=50))
def test_littles_law_is_exact_where_everything_happens_inside_the_window(requests: list[tuple[float, float]]) -> None:
    begin, end = [b for b, _ in requests], [b + length + 1e-3 for b, length in requests]
    got = little(begin, end, (0.0, 101.0))
    assert got.residual == pytest.approx(0.0, abs=1e-9)
    assert got.in_flight == pytest.approx(got.arrival_rate * got.mean_latency_s)


def test_a_request_across_each_edge_is_what_the_two_sides_differ_by() -> None:
    """Window 10..20; 5..12 has 2 s in it and began before, 18..25 has 2 s of its 7 in it: L = .4, lambda W = .1 x 7 = .7."""
    got = little([5.0, 18.0], [12.0, 25.0], (10.0, 20.0))
    assert (got.in_flight, got.arrival_rate, got.mean_latency_s) == pytest.approx((0.4, 0.1, 7.0))
    assert got.residual == pytest.approx((0.4 - 0.7) / 0.4)
    assert not got.holds()


def test_a_stable_queue_holds_littles_law_and_one_that_fills_up_does_not() -> None:
    begin = np.arange(0.0, 1000.0, 0.1)
    assert little(begin, begin + 0.5, (100.0, 900.0)).holds()
    assert not little(begin, begin + 0.5 + 0.5 * begin, (100.0, 900.0)).holds()


def test_a_request_without_an_end_counts_as_in_flight_only() -> None:
    assert little([0.0, 1.0], [math.inf, 3.0], (1.0, 5.0)).in_flight == pytest.approx((4 + 2) / 4)
    with pytest.raises(ValueError, match="has no end"):
        little([0.0, 1.0], [2.0, math.inf], (1.0, 5.0))


def test_impossible_values_are_refused() -> None:
    for call, words in (
        (lambda: little([1.0], [2.0], (3.0, 3.0)), "window must end"),
        (lambda: little([1.0], [2.0], (3.0, 4.0)), "no request was in flight"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
