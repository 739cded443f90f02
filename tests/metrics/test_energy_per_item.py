"""energy_per_item: joules of the launch over its useful work."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.energy_per_item import METRIC
from tests.handmade import Handmade


def test_joules_are_divided_by_the_work_that_counted() -> None:
    made = Handmade(levels=(1,), blocks=1)
    number = made.launch(workers=1)
    made.steps(number, seconds=[1.0] * 5, items=6)
    made.reading(number, "GPU-1", "energy", 60.0, unit="J")
    value = METRIC.compute(made.measured(), {})["workers=1"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(2.0)


def test_without_energy_it_is_absent() -> None:
    made = Handmade(levels=(1,), blocks=1)
    made.launch(workers=1)
    assert isinstance(METRIC.compute(made.measured(), {})["workers=1"], Absent)
