"""speedup: time of the base over time of the configuration, per unit of work, inside each block."""

from __future__ import annotations

import math

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.speedup import METRIC
from assay.spec.experiment import Scaling
from tests.handmade import Handmade


def stepped(times: dict[tuple[int, int], float], **asked: object) -> Handmade:
    """A record with one launch per (workers, block) and its step time; 8 items a step in all."""
    made = Handmade(levels=tuple(sorted({w for w, _ in times})), blocks=1 + max(b for _, b in times), **asked)  # type: ignore[arg-type]
    for (workers, block), seconds in times.items():
        number = made.launch(workers=workers, block=block, wall_s=100.0)
        for rank in range(workers):
            made.steps(number, rank=rank, seconds=[seconds] * 5, items=8 / workers)
    return made


def test_a_drift_that_hits_both_sides_of_a_block_cancels() -> None:
    times = {(1, 0): 1.0, (2, 0): 0.5, (1, 1): 3.0, (2, 1): 1.5}
    value = METRIC.compute(stepped(times).measured(), {})["workers=2"]
    assert isinstance(value, Estimate)
    assert (value.value, value.low, value.high) == (pytest.approx(2.0), pytest.approx(2.0), pytest.approx(2.0))


def test_the_interval_is_student_t_on_log_ratios_of_blocks() -> None:
    times = {(1, 0): 1.0, (2, 0): 1.0, (1, 1): 4.0, (2, 1): 1.0}
    value = METRIC.compute(stepped(times).measured(), {})["workers=2"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(2.0)
    assert math.log(value.high / 2.0) == pytest.approx(12.7062047 * math.log(4.0) / 2.0, rel=1e-6)
    assert value.launch_values == (pytest.approx(1.0), pytest.approx(4.0))


def test_the_base_is_exactly_one_and_named_in_the_signature() -> None:
    values = METRIC.compute(stepped({(1, 0): 1.0, (2, 0): 0.6}).measured(), {})
    base, other = values["workers=1"], values["workers=2"]
    assert isinstance(base, Estimate)
    assert isinstance(other, Estimate)
    assert (base.value, base.low, base.high) == (1.0, 1.0, 1.0)
    assert "base:workers=1" in other.signature
    assert "basis:step" in other.signature


def test_weak_scaling_compares_time_per_unit_of_work() -> None:
    """Twice the work in 1.25 times the time is a speedup of 1.6."""
    made = Handmade(levels=(1, 2), blocks=1, scaling=Scaling(mode="weak"))
    one, two = made.launch(workers=1), made.launch(workers=2)
    made.steps(one, seconds=[1.0] * 5, items=8)
    for rank in range(2):
        made.steps(two, rank=rank, seconds=[1.25] * 5, items=8)
    value = METRIC.compute(made.measured(), {})["workers=2"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(1.6)


def test_without_steps_the_wall_time_is_compared_and_named() -> None:
    made = Handmade(levels=(1, 2), blocks=1)
    made.launch(workers=1, wall_s=9.0)
    made.launch(workers=2, wall_s=6.0)
    value = METRIC.compute(made.measured(), {})["workers=2"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(1.5)
    assert "basis:wall" in value.signature


def test_only_blocks_that_hold_both_configurations_are_compared() -> None:
    times = {(1, 0): 1.0, (2, 0): 0.5, (1, 1): 7.0}
    value = METRIC.compute(stepped(times).measured(), {})["workers=2"]
    assert isinstance(value, Estimate)
    assert value.n_launches == 1
    apart = {(1, 0): 1.0, (2, 1): 0.5}
    assert isinstance(METRIC.compute(stepped(apart).measured(), {})["workers=2"], Absent)


def test_steps_that_did_no_work_give_no_speedup() -> None:
    made = Handmade(levels=(1, 2), blocks=1)
    for workers in (1, 2):
        made.steps(made.launch(workers=workers), seconds=[1.0, 1.0], items=0.0)
    value = METRIC.compute(made.measured(), {})["workers=2"]
    assert isinstance(value, Absent)
    assert value.reason == "refused"
