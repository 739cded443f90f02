"""instrument_overhead: what the probe says of itself, as a share of the step."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.instrument_overhead import METRIC
from tests.handmade import Handmade


def test_the_dearest_rank_is_compared_with_the_median_step() -> None:
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2)
    made.steps(number, seconds=[0.001] * 5)
    for cost in (4000.0, 5000.0):
        made.reading(number, "probe", "cost_per_step", cost, unit="ns", method="self")
    value = METRIC.compute(made.measured(), {})["workers=2"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(0.005)


def test_without_the_probe_it_is_absent() -> None:
    made = Handmade(levels=(1,), blocks=1)
    made.launch(workers=1)
    assert isinstance(METRIC.compute(made.measured(), {})["workers=1"], Absent)
