"""Are the closed forms those of the books, and are hidden waits found again?  Expected values: methodology T8 and T9."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.stats.queueing import (
    back_filled,
    closed_loop,
    latencies_from_due,
    little,
    mm1_mean,
    mm1_quantile,
)


@pytest.mark.parametrize(
    ("load", "mean", "p50", "p99"),
    [(0.8, 5.0, 3.4657, 23.0259), (0.9, 10.0, 6.9315, 46.0517), (0.95, 20.0, 13.863, 92.103)],
)
def test_the_time_in_an_mm1_system_is_exponential(load: float, mean: float, p50: float, p99: float) -> None:
    got = (mm1_mean(load), mm1_quantile(0.5, load), mm1_quantile(0.99, load))
    assert got == pytest.approx((mean, p50, p99), rel=2e-5)
    assert mm1_mean(load * 7, 7.0) == pytest.approx(mean / 7)


@pytest.mark.parametrize(
    ("customers", "throughput", "response"),
    [(1, 0.090909, 1.0), (10, 0.785418, 2.73208), (20, 0.998131, 10.03745), (50, 1.0, 40.0)],
)
def test_a_closed_loop_is_the_mean_value_analysis(customers: int, throughput: float, response: float) -> None:
    got = closed_loop(customers, service_s=1.0, thinking_s=10.0)
    assert (got.throughput, got.response_s) == pytest.approx((throughput, response), rel=2e-6)
    assert got.queue + 10.0 * got.throughput == pytest.approx(customers)  # everyone is queueing or thinking


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


def test_a_freeze_is_seen_by_due_times_and_hidden_from_a_waiting_generator() -> None:
    """Tene: 100 requests/s of 1 ms for 100 s, then a freeze of 100 s that a generator that waits sees as one slow request."""
    naive = np.append(np.full(10_000, 0.001), 100.0)
    assert naive.mean() == pytest.approx(10.999e-3, abs=5e-7)
    assert np.quantile(naive, 0.9999) == pytest.approx(0.001)

    due = 0.01 * np.arange(20_000)
    done = np.where(due < 99.995, due + 0.001, 200.0)
    for seen in (latencies_from_due(due, done), back_filled(naive, 0.01)):
        assert len(seen) == 20_000
        assert seen.mean() == pytest.approx(25.003, abs=5e-4)
        assert np.quantile(seen, [0.5, 0.75, 0.9999]) == pytest.approx([0.0055, 50.0025, 99.98], abs=2e-5)


def test_without_a_wait_longer_than_the_interval_nothing_was_hidden() -> None:
    assert back_filled([0.001, 0.009], 0.01).tolist() == [0.001, 0.009]
    assert back_filled([0.035], 0.01) == pytest.approx([0.035, 0.025, 0.015])


def test_what_cannot_be_is_refused() -> None:
    for call, words in (
        (lambda: mm1_mean(1.0), "stable"),
        (lambda: mm1_quantile(1.0, 0.5), "strictly between"),
        (lambda: closed_loop(0, 1.0, 1.0), "at least 1 customer"),
        (lambda: latencies_from_due([1.0], [0.5]), "request 0 has its end before"),
        (lambda: latencies_from_due([1.0], [2.0, 3.0]), "every due time needs its end"),
        (lambda: little([1.0], [2.0], (3.0, 3.0)), "window must end"),
        (lambda: little([1.0], [2.0], (3.0, 4.0)), "no request was in flight"),
        (lambda: back_filled([1.0], 0.0), "above 0"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
