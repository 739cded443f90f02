"""unknown_time: what is left of a step when its marked phases are taken away."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Estimate
from assay.metrics.unknown_time import METRIC
from tests.handmade import Handmade


def test_phases_and_the_unknown_rest_make_the_step() -> None:
    made = Handmade(levels=(1,), blocks=1)
    phases = {"data": 0.1, "forward": 0.2, "backward": 0.4, "optimizer": 0.1}
    made.steps(made.launch(workers=1), seconds=[1.5, 1.5, 1.5], phases_s=phases, checkpoint_s=0.5)
    value = METRIC.compute(made.measured(), {})["workers=1"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(0.2)  # 1.5 - 0.5 checkpoint - 0.8 marked


def test_a_rest_below_nothing_keeps_its_interval_about_it() -> None:
    """Phases marked as longer than their step: -0.1 and -0.3 s. An interval that began at 0 would not hold its own value."""
    made = Handmade(levels=(1,), blocks=2)
    for block, forward in enumerate((1.1, 1.3)):
        made.steps(made.launch(workers=1, block=block), seconds=[1.0] * 3, phases_s={"forward": forward})
    value = METRIC.compute(made.measured(), {})["workers=1"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(-0.2)
    assert value.low < value.value < value.high
