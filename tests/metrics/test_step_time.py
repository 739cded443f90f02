"""step_time: the slowest rank's time, median over steps, then over launches."""

from __future__ import annotations

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.step_time import METRIC
from tests.handmade import Handmade


def test_the_slowest_rank_decides_and_the_median_step_stands_for_a_launch() -> None:
    made = Handmade(levels=(2,), blocks=2)
    for block in range(2):
        number = made.launch(workers=2, block=block)
        made.steps(number, rank=0, seconds=[1.0, 2.0, 3.0])
        made.steps(number, rank=1, seconds=[1.5, 1.0, 3.5])
    value = METRIC.compute(made.measured(), {})["workers=2"]
    assert isinstance(value, Estimate)
    assert value.launch_values == (2.0, 2.0)  # steps of 1.5, 2.0 and 3.5 s
    assert value.n_trials == 6


def test_a_checkpoint_inside_a_step_is_not_step_time() -> None:
    made = Handmade(levels=(1,), blocks=1)
    made.steps(made.launch(workers=1), seconds=[3.0, 3.0, 3.0], checkpoint_s=1.0)
    value = METRIC.compute(made.measured(), {})["workers=1"]
    assert isinstance(value, Estimate)
    assert value.value == 2.0


def test_a_step_done_again_after_a_restart_counts_in_its_last_version() -> None:
    made = Handmade(levels=(1,), blocks=1)
    number = made.launch(workers=1)
    made.steps(number, seconds=[1.0, 1.0, 9.0])
    made.steps(number, seconds=[1.0], first=2, start_s=20.0, incarnation=1)
    value = METRIC.compute(made.measured(), {})["workers=1"]
    assert isinstance(value, Estimate)
    assert (value.value, value.n_trials) == (1.0, 3)


def test_a_script_without_marked_steps_has_no_step_time() -> None:
    made = Handmade(levels=(1,), blocks=1)
    made.launch(workers=1)
    value = METRIC.compute(made.measured(), {})["workers=1"]
    assert isinstance(value, Absent)
    assert "probe.steps" in value.detail


def test_failed_and_fault_launches_never_enter_a_timing() -> None:
    made = Handmade(levels=(1,), blocks=3)
    for role, status, seconds in (("timed", "ok", 1.0), ("timed", "failed", 50.0), ("fault", "ok", 70.0)):
        made.steps(made.launch(workers=1, role=role, status=status), seconds=[seconds] * 3)
    value = METRIC.compute(made.measured(), {})["workers=1"]
    assert isinstance(value, Estimate)
    assert value.launch_values == (1.0,)
