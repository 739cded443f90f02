"""speedup_wall: what the user felt, start-up included."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.speedup_wall import METRIC
from assay.spec.experiment import Scaling
from tests.handmade import Handmade


def test_whole_runs_are_compared_even_where_steps_are_marked() -> None:
    made = Handmade(levels=(1, 2), blocks=1)
    made.steps(made.launch(workers=1, wall_s=12.0), seconds=[1.0] * 5)
    made.steps(made.launch(workers=2, wall_s=10.0), seconds=[0.5] * 5)
    value = METRIC.compute(made.measured(), {})["workers=2"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(1.2)


def test_weak_scaling_has_none_because_the_runs_differ_in_work() -> None:
    made = Handmade(levels=(1, 2), blocks=1, scaling=Scaling(mode="weak"))
    made.launch(workers=1)
    assert isinstance(METRIC.compute(made.measured(), {})["workers=2"], Absent)


def test_epochs_of_the_same_data_are_the_same_work_although_the_batch_grows() -> None:
    """Nobody declared a mode: 8 items in each of 4 steps by one worker, 16 in each of 2 steps by two."""
    made = Handmade(levels=(1, 2), blocks=1)
    for workers, seconds, steps, items in ((1, 8.0, 4, 8.0), (2, 5.0, 2, 8.0)):
        number = made.launch(workers=workers, wall_s=seconds)
        for rank in range(workers):
            made.steps(number, rank=rank, seconds=[1.0] * steps, items=items)
    value = METRIC.compute(made.measured(), {})["workers=2"]
    assert made.measured().mode == "weak"
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(8.0 / 5.0)
