"""achieved_flops: operations of a step over its time."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.achieved_flops import METRIC
from tests.handmade import S
from tests.metrics.flops_made import made, part


def test_operations_are_taken_over_the_steady_step_and_not_the_counted_one() -> None:
    """Two ranks of 3e12 each, steps of 2 s after a first one of 9 s."""
    found = METRIC.compute(made(part(3e12), workers=2).measured(), {})["workers=2"]
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(3e12)
    assert found.unit == "FLOP/s"


def test_steps_that_stall_count_as_in_the_throughput() -> None:
    """Four steady steps of 1, 1, 1 and 5 s, 8 items and 4e12 operations each: 2e12 a second at 4 items a second, not 4e12."""
    from assay.metrics import throughput

    record = made(part(4e12), items=(8.0, 8.0))
    record.rows["steps"] = []
    for number in range(3):
        record.steps(number, seconds=[9.0, 1.0, 1.0, 1.0, 5.0], items=8.0)
    measured = record.measured()
    found, rate = (one.compute(measured, {})["workers=1"] for one in (METRIC, throughput.METRIC))
    assert isinstance(found, Estimate)
    assert isinstance(rate, Estimate)
    assert (rate.value, found.value) == pytest.approx((4.0, 2e12))


def test_only_the_items_of_the_steps_that_are_timed_count() -> None:
    """6 items were counted as 3e12 operations in a warm-up of 600 s; a steady step has 8 items in 2 s: 4e12 in 2 s.  The 100 items of a
    step that a restart made again count for nothing."""
    record = made(part(3e12), items=(6.0, 8.0), workers=2)
    record.rows["steps"] = []
    for number in range(3):
        for rank in (0, 1):
            record.steps(number, rank=rank, seconds=[600.0], items=6.0)
            record.steps(number, rank=rank, seconds=[2.0] * 2, first=1, start_s=600.0, items=8.0)
            record.steps(number, rank=rank, seconds=[2.0], first=3, start_s=604.0, items=100.0)
            record.steps(number, rank=rank, seconds=[2.0] * 3, first=3, start_s=610.0, items=8.0, incarnation=1)
    found = METRIC.compute(record.measured(), {})["workers=2"]
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(2 * 4e12 / 2)


def test_it_is_there_for_a_device_that_nobody_knows() -> None:
    found = METRIC.compute(made(part(4e9, name="Abacus 9", device="cpu")).measured(), {})["workers=1"]
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(2e9)


def test_without_operations_there_is_none() -> None:
    found = METRIC.compute(made(absent="compiled").measured(), {})["workers=1"]
    assert isinstance(found, Absent)
    assert found.detail == "rank 0: compiled"


def test_a_counted_step_is_warm_up_however_fast_it_was() -> None:
    """Steps of 2 s throughout: without the first there are four left in each of three launches."""
    record = made(part(1e12))
    record.rows["steps"] = [(*row[:4], row[5] - 2 * S, *row[5:]) if row[3] == 0 else row for row in record.rows["steps"]]
    measured = record.measured()
    assert {state.warmup for state in measured.steady.values()} == {1}
    assert measured.steady_steps.height == 12
