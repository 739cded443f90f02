"""training_goodput_fault: the same with a killed worker."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.training_goodput_fault import METRIC
from tests.handmade import Handmade
from tests.metrics.clocks_made import on_two_hosts
from tests.struck import struck


def test_steps_done_again_are_productive_once() -> None:
    value = METRIC.compute(struck().measured(), {})["workers=2"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(0.4)  # 8 steps x 2 ranks of 2 x 20 s


def test_timed_launches_do_not_enter() -> None:
    made = Handmade(levels=(2,), blocks=1)
    made.steps(made.launch(workers=2), seconds=[1.0] * 3)
    assert isinstance(METRIC.compute(made.measured(), {})["workers=2"], Absent)


def test_a_fault_launch_in_which_no_fault_struck_does_not_enter() -> None:
    made = struck()
    number = made.launch(workers=2, role="fault", wall_s=10.0)
    for rank in range(2):
        made.steps(number, rank=rank, seconds=[1.0] * 10)  # a goodput of 1.0
    value = METRIC.compute(made.measured(), {})["workers=2"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(0.4)
    assert value.n_launches == 1


def test_hosts_whose_clocks_nobody_compared_have_no_goodput_of_zero() -> None:
    value = METRIC.compute(on_two_hosts(-300.0, looks=0).measured(), {})["workers=2"]
    assert isinstance(value, Absent)
    assert "clock of there" in value.detail
