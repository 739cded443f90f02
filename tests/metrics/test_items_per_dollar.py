"""items_per_dollar: the inverse of cost_per_item, with its interval turned round."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.frames.record_data import Measured
from assay.metrics import cost_per_item, items_per_dollar
from tests.handmade import Handmade


def value(measured: Measured) -> Estimate | Absent:
    return items_per_dollar.METRIC.compute(measured, {"cost_per_item": cost_per_item.METRIC.compute(measured, {})})["workers=2"]


def test_ten_items_for_twenty_dollars_are_half_an_item_per_dollar() -> None:
    made = Handmade(levels=(2,), blocks=2, prices=3600.0)  # one dollar per worker-second
    for block, wall_s in enumerate((10.0, 20.0)):
        number = made.launch(workers=2, block=block, wall_s=wall_s)
        for rank in range(2):
            made.steps(number, rank=rank, seconds=[1.0] * 5, items=1)
    found = value(made.measured())
    cost = cost_per_item.METRIC.compute(made.measured(), {})["workers=2"]
    assert isinstance(found, Estimate)
    assert isinstance(cost, Estimate)
    assert found.launch_values == (pytest.approx(0.5), pytest.approx(0.25))
    assert (found.low, found.high) == (pytest.approx(1 / cost.high), pytest.approx(1 / cost.low))


def test_without_a_price_it_is_absent() -> None:
    made = Handmade(levels=(2,), blocks=1)
    made.launch(workers=2)
    assert isinstance(value(made.measured()), Absent)
