"""comm_hidden: alone less exposed, both of one launch and never of two. Worked out by hand."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate, Value
from assay.metrics.comm_hidden import METRIC
from tests.handmade import Handmade
from tests.metrics.communication_made import told
from tests.metrics.test_comm_alone import replays
from tests.metrics.test_communication import RANKS, in_turn, noisy, timed


def alone(made: Handmade, number: int, value_ms: float) -> None:
    """The launch's collectives, made again alone, took so long."""
    for rank in RANKS:
        told(made, number, rank, 6, "replay", None, total_ms=value_ms)


def hidden(made: Handmade, configuration: str = "workers=2") -> Value:
    return METRIC.compute(made.measured(), {})[configuration]


def test_what_does_not_lengthen_a_step_is_hidden() -> None:
    """50 ms alone, steps of 100 with and 70 without: 20 hidden. 44 alone and 30 exposed in another launch: 14; the mean 17."""
    made, (number,) = timed()
    for step in range(3):
        for rank in RANKS:
            told(made, number, rank, step, "group", 49.0)  # of a timed launch: never subtracted
    alone(made, in_turn(made, (100.0, 100.0), (70.0, 70.0)), 50.0)
    alone(made, in_turn(made, (90.0, 90.0), (60.0, 60.0)), 44.0)
    found = hidden(made)
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(0.017)
    assert found.launch_values == pytest.approx((0.020, 0.014))
    assert found.low == 0.0
    assert found.n_launches == 2
    assert "comm_hidden|by:unsynchronised" in found.signature
    assert "steps with and without synchronising" in found.method


def test_less_than_nothing_is_nothing_and_it_is_said() -> None:
    """24 ms alone and 30 exposed: contention or waiting for a slower rank is more than all that is hidden."""
    made, _ = timed()
    alone(made, in_turn(made, (100.0, 100.0), (70.0, 70.0)), 24.0)
    found = hidden(made)
    assert isinstance(found, Estimate)
    assert found.value == 0.0
    assert found.method.endswith("raised to 0 from below in 100.0% of them")


def test_two_launches_are_not_subtracted_from_one_another() -> None:
    """One has replays alone, the other steps in turn alone."""
    made, _ = timed()
    replays(made, [(50, 50)])
    in_turn(made, (100.0, 100.0), (70.0, 70.0))
    found = hidden(made)
    assert isinstance(found, Absent)
    assert "two launches are not subtracted from one another" in found.detail


def test_where_no_step_goes_without_synchronising_it_is_absent() -> None:
    """As of FSDP: what the threads of the timed launches waited for is another way and another launch."""
    made, (number,) = timed()
    told(made, number, 0, 1, "group", 24.0)
    replays(made, [(50, 50)])
    found = hidden(made)
    assert isinstance(found, Absent)
    assert "no step went without synchronising" in found.detail
    assert "alone" not in found.detail


def test_where_the_machine_is_too_busy_it_is_absent_and_says_what_was_seen() -> None:
    made, _ = timed()
    alone(made, noisy(made, 25.0), 50.0)
    found = hidden(made)
    assert isinstance(found, Absent)
    assert "in turn cannot tell: " in found.detail
    assert "no step went without" not in found.detail


def test_without_calibrating_it_is_absent() -> None:
    made, _ = timed()
    found = hidden(made)
    assert isinstance(found, Absent)
    assert "workload.calibrate_communication = 3" in found.detail
    nobody = hidden(made, "workers=1")
    assert isinstance(nobody, Absent)
    assert nobody.reason == "not_applicable"
