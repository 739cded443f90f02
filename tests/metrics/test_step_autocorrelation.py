"""step_autocorrelation: the autocorrelation time of the steps of a launch, then over launches."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.step_autocorrelation import METRIC
from tests.handmade import Handmade


def recorded(coefficient: float, *, steps: int = 3000, blocks: int = 5, apart: float = 0.0) -> Handmade:
    """AR(1) steps round 10 s, launches `apart` seconds apart."""
    made, rng = Handmade(levels=(1,), blocks=blocks), np.random.default_rng(4)
    for block in range(blocks):
        noise = accumulate(rng.normal(0, 0.01, steps), lambda last, e: coefficient * last + e)
        made.steps(made.launch(workers=1, block=block), seconds=[10.0 + apart * block + x for x in noise])
    return made


@pytest.mark.parametrize(("coefficient", "tau"), [(0.0, 1.0), (0.5, 3.0), (0.8, 9.0)])
def test_it_is_the_known_time_of_ar1(coefficient: float, tau: float) -> None:  # (1 + f)/(1 - f)
    value = METRIC.compute(recorded(coefficient).measured(), {})["workers=1"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(tau, rel=0.15)
    assert value.low <= value.value <= value.high
    assert (value.unit, value.n_launches, len(value.launch_values)) == ("steps", 5, 5)


def test_launches_at_different_levels_are_not_memory_inside_a_launch() -> None:
    value = METRIC.compute(recorded(0.0, apart=1.0).measured(), {})["workers=1"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(1.0, rel=0.15)


def test_launches_of_a_few_steps_show_none() -> None:
    value = METRIC.compute(recorded(0.0, steps=19).measured(), {})["workers=1"]
    assert isinstance(value, Absent)
    assert (value.reason, "a launch has 19" in value.detail) == ("insufficient", True)


def test_without_marked_steps_or_launches_it_is_not_measured() -> None:
    made = Handmade(levels=(1, 2), blocks=1)
    made.launch(workers=1)
    values = METRIC.compute(made.measured(), {})
    assert [value.reason for value in values.values() if isinstance(value, Absent)] == ["not_measured"] * 2
