"""cost_per_item: 10 s x 2 workers x 1 dollar a second / 10 items."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.cost_per_item import METRIC
from tests.handmade import Handmade


def made(price: float | None) -> Handmade:
    record = Handmade(levels=(2,), blocks=1, prices=price)
    number = record.launch(workers=2, wall_s=10.0)
    for rank in range(2):
        record.steps(number, rank=rank, seconds=[1.0] * 5, items=1)
    return record


def test_a_run_is_charged_whole_and_credited_with_its_work() -> None:
    value = METRIC.compute(made(3600.0).measured(), {})["workers=2"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(2.0)  # 10 s x 2 workers x 1 dollar a second / 10 items


@pytest.mark.parametrize("price", [None, 0.0])
def test_without_a_price_it_is_absent(price: float | None) -> None:
    assert isinstance(METRIC.compute(made(price).measured(), {})["workers=2"], Absent)


def test_without_counted_work_it_is_absent() -> None:
    record = Handmade(levels=(1,), blocks=1, prices=1.0)
    record.launch(workers=1)
    assert isinstance(METRIC.compute(record.measured(), {})["workers=1"], Absent)
