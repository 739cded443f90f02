"""The timeline of a fault under a load, and when the attainment is back."""

from __future__ import annotations

import numpy as np
import pytest

from fireassay.frames.serving.outages import outages, recovered, recovered_s
from fireassay.spec.sections.serving import Objectives
from tests.metrics.serving.outages_made import outage
from tests.serving_made import ServingMade, simulated


def flags(*runs: tuple[int, bool]) -> np.ndarray:
    return np.concatenate([np.full(length, missed) for length, missed in runs])


def test_recovery_is_after_the_last_miss_of_the_last_window_outside() -> None:
    assert recovered(flags((5, False), (7, True), (30, False)), 10, 2) == 12
    assert recovered(flags((5, False), (7, True), (8, False), (5, True), (30, False)), 10, 2) == 25


def test_a_stray_miss_is_no_outage() -> None:
    assert recovered(flags((20, False), (1, True), (20, False)), 10, 2) == 0
    assert recovered(flags((5, True), (20, False), (1, True), (20, False)), 10, 2) == 5


def test_misses_until_the_end_are_no_recovery() -> None:
    assert recovered(flags((20, False), (15, True)), 10, 2) is None


def test_requests_in_flight_at_the_fault_belong_to_it() -> None:
    """Due at 0 and 1 s, ending at 0.5 and 6 s; struck at 3 s, back at 5 s; due at 4 and 7 s."""
    made = ServingMade(rate=(1.0,), blocks=1, objectives=Objectives(e2e_s=1.0))
    number = made.launch(role="fault")
    for due, length in ((0.0, 0.5), (1.0, 5.0), (4.0, 0.5), (7.0, 0.5)):
        made.request(number, due, at_s=[length], tokens_out=1)
    made.event(number, "fault", 3.0, value=1)
    made.event(number, "replica_up", 5.0, value=1)
    (found,) = outages(made.measured())
    assert [part.height for part in (found.before, found.during, found.after)] == [1, 2, 1]
    assert found.during["good"].to_list() == [False, True]


def test_another_replica_that_comes_back_is_not_the_struck_one() -> None:
    made = outage(up_s=14.5)
    made.event(0, "replica_up", 11.0, value=0)
    (found,) = outages(made.measured())
    assert found.up_ns is not None
    assert (found.up_ns - made.t0[0]) / 1e9 == pytest.approx(14.5)


def test_a_fault_that_missed_struck_nothing() -> None:
    made = outage()
    made.event(0, "fault_missed", 10.06, value=1, detail={"why": "it had just ended"})
    assert outages(made.measured()) == ()


def test_a_simulated_outage_is_timed_to_the_next_request() -> None:
    """Replica 1 of 2 refuses from 5 to 8.5 s after the warm-up; at 40 requests a second in turn to 1 in 20 ms or so."""
    made = simulated(
        rate=(40.0,), blocks=1, tokens_out=8, seconds=20.0, warm_up_s=1.0, outage=(5.0, 8.0), objectives=Objectives(e2e_s=5.0), seed=3
    )
    (found,) = outages(made.measured())
    seconds = recovered_s(found, 0.95)
    assert isinstance(seconds, float)
    assert seconds == pytest.approx(3.5, abs=0.25)
