"""How long is each phase of a step?"""

from __future__ import annotations

import pytest

from fireassay.estimates.estimate import Absent
from fireassay.metrics.metric import Metric
from fireassay.metrics.training.ranks import BACKWARD_TIME, DATA_TIME, FORWARD_TIME, OPTIMIZER_TIME, UNKNOWN_TIME
from tests.handmade import Handmade
from tests.metrics.narrow import estimated


@pytest.mark.parametrize(
    ("metric", "phase"), [(DATA_TIME, "data"), (FORWARD_TIME, "forward"), (BACKWARD_TIME, "backward"), (OPTIMIZER_TIME, "optimizer")]
)
def test_the_phase_is_taken_from_the_slowest_rank_of_each_step(metric: Metric, phase: str) -> None:
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2)
    made.steps(number, rank=0, seconds=[1.0, 1.0, 1.0], phases_s={phase: 0.9})
    made.steps(number, rank=1, seconds=[2.0, 2.0, 2.0], phases_s={phase: 0.25})
    assert estimated(metric.compute(made.measured(), {})["workers=2"]).value == pytest.approx(0.25)


@pytest.mark.parametrize("metric", [DATA_TIME, FORWARD_TIME, BACKWARD_TIME, OPTIMIZER_TIME], ids=lambda metric: metric.name)
def test_a_phase_that_was_not_marked_is_absent(metric: Metric) -> None:
    made = Handmade(levels=(1,), blocks=1)
    made.steps(made.launch(workers=1), seconds=[1.0, 1.0])
    assert isinstance(metric.compute(made.measured(), {})["workers=1"], Absent)


# ---- forward_time: the forward phase of the slowest rank, median over steps; null phases are absent, never 0.


def test_the_interval_does_not_go_where_no_time_can_be() -> None:
    """1 and 3 ms: 2 ms -+ 12.7 sqrt(2) / sqrt(2), which would begin at -10.7 ms."""
    made = Handmade(levels=(2,), blocks=2)
    for block, seconds in enumerate((0.001, 0.003)):
        number = made.launch(workers=2, block=block)
        made.steps(number, rank=0, seconds=[1.0] * 3, phases_s={"forward": seconds})
    value = estimated(FORWARD_TIME.compute(made.measured(), {})["workers=2"])
    assert (value.low, value.value, value.high) == pytest.approx((0.0, 0.002, 0.002 + 0.0127062), rel=1e-4)


# ---- unknown_time: what is left of a step when its marked phases are taken away.


def test_phases_and_the_unknown_rest_make_the_step() -> None:
    made = Handmade(levels=(1,), blocks=1)
    phases = {"data": 0.1, "forward": 0.2, "backward": 0.4, "optimizer": 0.1}
    made.steps(made.launch(workers=1), seconds=[1.5, 1.5, 1.5], phases_s=phases, checkpoint_s=0.5)
    value = estimated(UNKNOWN_TIME.compute(made.measured(), {})["workers=1"])
    assert value.value == pytest.approx(0.2)  # 1.5 - 0.5 checkpoint - 0.8 marked


def test_a_rest_below_nothing_keeps_its_interval_about_it() -> None:
    """Phases marked as longer than their step: -0.1 and -0.3 s. An interval that began at 0 would not hold its own value."""
    made = Handmade(levels=(1,), blocks=2)
    for block, forward in enumerate((1.1, 1.3)):
        made.steps(made.launch(workers=1, block=block), seconds=[1.0] * 3, phases_s={"forward": forward})
    value = estimated(UNKNOWN_TIME.compute(made.measured(), {})["workers=1"])
    assert value.value == pytest.approx(-0.2)
    assert value.low < value.value < value.high
