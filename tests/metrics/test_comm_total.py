"""comm_total: the union of a rank's collectives, mean over ranks, median over steps."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.comm_total import METRIC
from tests.handmade import Handmade
from tests.metrics.communication_made import calls, ms


def launched(steps: int = 3) -> tuple[Handmade, int]:
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2)
    for rank in (0, 1):
        made.steps(number, rank=rank, seconds=[0.1] * steps)
    return made, number


def test_calls_under_way_at_once_count_once() -> None:
    """10-40 and 30-50 and 60-70: 50 ms, not the sum of 60. The other rank 10-30: 20. Mean 35."""
    made, number = launched()
    for step in range(3):
        calls(made, number, 0, step, [(10, 40), (30, 50), (60, 70)])
        calls(made, number, 1, step, [(10, 30)], first=3 * step)
    assert ms(METRIC.compute(made.measured(), {})["workers=2"]) == pytest.approx(35.0)
    assert made.measured().communicated.calls.filter(rank=0)["sum_ns"].to_list() == [60_000_000] * 3


def test_a_call_inside_of_another_adds_nothing_and_one_after_both_does() -> None:
    """10-50, 20-30, 40-60 and 60-65: 55."""
    made, number = launched()
    for step in range(3):
        for rank in (0, 1):
            calls(made, number, rank, step, [(40, 60), (10, 50), (20, 30), (60, 65)])
    assert ms(METRIC.compute(made.measured(), {})["workers=2"]) == pytest.approx(55.0)


def test_times_that_no_step_has_do_not_run_over() -> None:
    """A call of a century in one step, and 30 ms in the others: the median is 30."""
    made, number = launched()
    for rank in (0, 1):
        calls(made, number, rank, 0, [(0, 3.15e12), (0, 10)])
        calls(made, number, rank, 1, [(0, 30), (10, 20)])
        calls(made, number, rank, 2, [(0, 20), (10, 30)])
    assert ms(METRIC.compute(made.measured(), {})["workers=2"]) == pytest.approx(30.0)


def test_a_step_without_a_collective_communicates_for_no_time() -> None:
    """30, 0 and 20 ms: the median is 20."""
    made, number = launched()
    for rank in (0, 1):
        calls(made, number, rank, 0, [(0, 30)])
        calls(made, number, rank, 2, [(0, 20)])
    assert ms(METRIC.compute(made.measured(), {})["workers=2"]) == pytest.approx(20.0)


def test_a_step_done_again_counts_as_it_was_the_last_time() -> None:
    made, number = launched(steps=1)
    for rank in (0, 1):
        calls(made, number, rank, 0, [(0, 90)])
        made.steps(number, rank=rank, seconds=[0.1], incarnation=1, start_s=1.0)
        calls(made, number, rank, 0, [(0, 10)], incarnation=1)
    assert ms(METRIC.compute(made.measured(), {})["workers=2"]) == pytest.approx(10.0)


def test_replays_are_no_training_and_unseen_ends_are_named() -> None:
    made, number = launched()
    for step in range(3):
        for rank in (0, 1):
            calls(made, number, rank, step, [(0, 10), (20, None)])
            calls(made, number, rank, step, [(30, 90)], phase="replay", first=1000 + step)
    found = METRIC.compute(made.measured(), {})["workers=2"]
    assert ms(found) == pytest.approx(10.0)
    assert isinstance(found, Estimate)
    assert "6 calls whose end was not seen are left out" in found.method


def test_what_was_not_seen_is_absent() -> None:
    made, number = launched()
    unseen = METRIC.compute(made.measured(), {})["workers=2"]
    assert isinstance(unseen, Absent)
    assert "no collective" in unseen.detail
    for rank in (0, 1):
        for step in range(3):
            calls(made, number, rank, step, [(0, None)])
    endless = METRIC.compute(made.measured(), {})["workers=2"]
    assert isinstance(endless, Absent)
    assert "assay profile" in endless.detail
