"""time_to_recompute of a fault launch whose every instant was written by hand (tests/struck.py)."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.time_to_recompute import METRIC
from tests.handmade import Handmade
from tests.struck import struck


def test_it_is_read_off_the_timeline() -> None:
    value = METRIC.compute(struck().measured(), {})["workers=2"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(3.0)


def test_without_a_fault_launch_it_is_absent() -> None:
    made = Handmade(levels=(2,), blocks=1)
    made.launch(workers=2)
    assert isinstance(METRIC.compute(made.measured(), {})["workers=2"], Absent)


def test_a_job_that_never_trained_again_has_none() -> None:
    value = METRIC.compute(struck(recovers=False).measured(), {})["workers=2"]
    assert isinstance(value, Absent)
    assert value.reason == "undefined"


def test_a_launch_that_lost_nothing_leaves_the_interval_to_the_others() -> None:
    """0, 3 and 3 s: their mean is 2 s, and one launch without loss makes no exact count of it."""
    made = Handmade(levels=(2,), blocks=1)
    for lost in (0, 3, 3):
        number = made.launch(workers=2, role="fault", wall_s=20.0)
        for rank in range(2):
            made.steps(number, rank=rank, seconds=[1.0] * 7)
            made.steps(number, rank=rank, seconds=[1.0] * 4, first=7 - lost, start_s=10.0, incarnation=1)
        made.event(number, "fault", 7.5, rank=1, incarnation=0, step=7)
    value = METRIC.compute(made.measured(), {})["workers=2"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(2.0)
    assert value.low < 2.0 < value.high


def test_where_nothing_was_lost_it_is_zero() -> None:
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2, role="fault", wall_s=20.0)
    made.steps(number, seconds=[1.0] * 7)
    made.steps(number, seconds=[1.0] * 4, first=7, start_s=10.0, incarnation=1)
    made.event(number, "fault", 7.5, rank=1, incarnation=0, step=7)
    value = METRIC.compute(made.measured(), {})["workers=2"]
    assert isinstance(value, Estimate)
    assert (value.low, value.value, value.high) == (0.0, 0.0, 0.0)
