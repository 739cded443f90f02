"""efficiency: speedup per worker, relative to the base."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics import efficiency, speedup
from assay.spec.experiment import Scaling
from tests.handmade import Handmade


def test_efficiency_is_speedup_over_workers_and_so_is_its_interval() -> None:
    made = Handmade(levels=(1, 4), blocks=2)
    for block, time in enumerate((0.5, 0.4)):
        made.launch(workers=1, block=block, wall_s=1.0)
        made.launch(workers=4, block=block, wall_s=time)
    measured = made.measured()
    results = {"speedup": speedup.METRIC.compute(measured, {})}
    value, of = efficiency.METRIC.compute(measured, results)["workers=4"], results["speedup"]["workers=4"]
    assert isinstance(value, Estimate)
    assert isinstance(of, Estimate)
    assert (value.value, value.low, value.high) == pytest.approx((of.value / 4, of.low / 4, of.high / 4))


def test_a_base_of_two_workers_is_the_yardstick() -> None:
    made = Handmade(levels=(2, 4), blocks=1, scaling=Scaling(base=2))
    made.launch(workers=2, wall_s=1.0)
    made.launch(workers=4, wall_s=0.625)
    measured = made.measured()
    value = efficiency.METRIC.compute(measured, {"speedup": speedup.METRIC.compute(measured, {})})["workers=4"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(0.8)  # 1.6 x 2 / 4


def test_without_a_speedup_there_is_no_efficiency() -> None:
    measured = Handmade(levels=(1, 2)).measured()
    value = efficiency.METRIC.compute(measured, {"speedup": speedup.METRIC.compute(measured, {})})["workers=2"]
    assert isinstance(value, Absent)
