"""How much does a run, a step and an item cost?"""

from __future__ import annotations

from typing import Any

import pytest

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.frames.record_data import RecordData
from fireassay.metrics.cost import COST, COST_PER_EFFECTIVE_WORK, COST_PER_ITEM, COST_PER_STEP, COST_TOTAL, ITEMS_PER_DOLLAR, USEFUL_WORK
from fireassay.metrics.metric import ALL
from fireassay.metrics.training.time import STEP_TIME
from tests.handmade import Handmade
from tests.metrics.narrow import absence, estimated

# ---- cost: workers x price x wall time.


def test_the_reference_table_gives_its_documented_dollars() -> None:
    """32 workers at 1 dollar an hour each for 250 s cost 2.22 dollars, 2 for 1880 s cost 1.04."""
    made = Handmade(levels=(2, 32), blocks=1, prices=1.0)
    made.launch(workers=2, wall_s=1880.0)
    made.launch(workers=32, wall_s=250.0)
    values = COST.compute(made.measured(), {})
    dollars = {name: round(value.value, 2) for name, value in values.items() if isinstance(value, Estimate)}
    assert dollars == {"workers=2": 1.04, "workers=32": 2.22}


def test_a_price_of_nothing_costs_exactly_nothing_and_no_price_is_absent() -> None:
    free = Handmade(levels=(1,), blocks=1, prices=0.0)
    free.launch(workers=1)
    value = estimated(COST.compute(free.measured(), {})["workers=1"])
    assert (value.value, value.low, value.high) == (0.0, 0.0, 0.0)
    unpriced = Handmade(levels=(1,), blocks=1)
    unpriced.launch(workers=1)
    assert "usd_per_worker_hour" in absence(COST.compute(unpriced.measured(), {})["workers=1"]).detail


# ---- cost_per_item: 10 s x 2 workers x 1 dollar a second / 10 items.


def made(price: float | None) -> Handmade:
    record = Handmade(levels=(2,), blocks=1, prices=price)
    number = record.launch(workers=2, wall_s=10.0)
    for rank in range(2):
        record.steps(number, rank=rank, seconds=[1.0] * 5, items=1)
    return record


def test_a_run_is_charged_whole_and_credited_with_its_work() -> None:
    value = estimated(COST_PER_ITEM.compute(made(3600.0).measured(), {})["workers=2"])
    assert value.value == pytest.approx(2.0)  # 10 s x 2 workers x 1 dollar a second / 10 items


@pytest.mark.parametrize("price", [None, 0.0])
def test_without_a_price_it_is_absent(price: float | None) -> None:
    assert isinstance(COST_PER_ITEM.compute(made(price).measured(), {})["workers=2"], Absent)


def test_without_counted_work_it_is_absent() -> None:
    record = Handmade(levels=(1,), blocks=1, prices=1.0)
    record.launch(workers=1)
    assert isinstance(COST_PER_ITEM.compute(record.measured(), {})["workers=1"], Absent)


# ---- items_per_dollar: the inverse of cost_per_item, with its interval turned round.


def value(measured: RecordData) -> Estimate | Absent:
    return ITEMS_PER_DOLLAR.compute(measured, {"cost_per_item": COST_PER_ITEM.compute(measured, {})})["workers=2"]


def test_ten_items_for_twenty_dollars_are_half_an_item_per_dollar() -> None:
    made = Handmade(levels=(2,), blocks=2, prices=3600.0)  # one dollar per worker-second
    for block, wall_s in enumerate((10.0, 20.0)):
        number = made.launch(workers=2, block=block, wall_s=wall_s)
        for rank in range(2):
            made.steps(number, rank=rank, seconds=[1.0] * 5, items=1)
    found = value(made.measured())
    cost = estimated(COST_PER_ITEM.compute(made.measured(), {})["workers=2"])
    assert isinstance(found, Estimate)
    assert found.launch_values == (pytest.approx(0.5), pytest.approx(0.25))
    assert (found.low, found.high) == (pytest.approx(1 / cost.high), pytest.approx(1 / cost.low))


def test_without_a_price_it_is_absent_items_per_dollar() -> None:
    made = Handmade(levels=(2,), blocks=1)
    made.launch(workers=2)
    assert isinstance(value(made.measured()), Absent)


# ---- cost_per_step: the second table of docs/definitions.md.

SECONDS = {1: 10.00, 2: 7.69, 4: 5.00, 8: 3.85}


DOLLARS = {1: 0.2000, 2: 0.3076, 4: 0.4000, 8: 0.6160}


def test_the_reference_table_gives_its_documented_dollars_per_step() -> None:
    made = Handmade(levels=tuple(SECONDS), blocks=1, prices=0.02 * 3600)
    for workers, seconds in SECONDS.items():
        made.steps(made.launch(workers=workers), seconds=[seconds] * 3)
    measured = made.measured()
    values = COST_PER_STEP.compute(measured, {"step_time": STEP_TIME.compute(measured, {})})
    for workers, dollars in DOLLARS.items():
        assert estimated(values[f"workers={workers}"]).value == pytest.approx(dollars)


def test_no_price_no_dollars() -> None:
    measured = Handmade().measured()
    assert all(isinstance(value, Absent) for value in COST_PER_STEP.compute(measured, {}).values())


# ---- cost_per_effective_work: cost per step over efficiency.


def value_of_cost_per_effective_work(v: float, low: float, high: float) -> Estimate:
    return Estimate(value=v, low=low, high=high, unit="u", confidence=0.95, n_launches=5, n_trials=5, method="m", signature="s")


def test_an_idle_half_doubles_the_cost_and_the_interval_takes_opposite_ends() -> None:
    results: dict[str, Any] = {
        "cost_per_step": {
            "workers=1": value_of_cost_per_effective_work(1.0, 1.0, 1.0),
            "workers=2": value_of_cost_per_effective_work(2.0, 1.8, 2.2),
        },
        "efficiency": {"workers=1": Absent(reason="undefined", detail="d"), "workers=2": value_of_cost_per_effective_work(0.5, 0.4, 0.6)},
    }
    found = COST_PER_EFFECTIVE_WORK.compute(Handmade().measured(), results)
    two = estimated(found["workers=2"])
    assert (two.value, two.low, two.high) == pytest.approx((4.0, 3.0, 5.5))
    assert isinstance(found["workers=1"], Absent)


# ---- cost_total: every launch was paid for.


def test_failed_and_fault_launches_are_paid_for_too() -> None:
    made = Handmade(levels=(1, 2), blocks=1, prices=3600.0)  # one dollar per worker-second
    made.launch(workers=1, wall_s=10.0)
    made.launch(workers=2, wall_s=5.0, status="failed")
    made.launch(workers=2, wall_s=7.0, role="fault")
    assert estimated(COST_TOTAL.compute(made.measured(), {})[ALL]).value == pytest.approx(10.0 + 10.0 + 14.0)


# ---- useful_work: declared, else counted; a step done again counts once.


def work(made: Handmade) -> float:
    return round(estimated(USEFUL_WORK.compute(made.measured(), {})["workers=1"]).value, 9)


def test_a_step_done_again_counts_once() -> None:
    made = Handmade(levels=(1,), blocks=1)
    number = made.launch(workers=1)
    made.steps(number, seconds=[1.0] * 4, items=10)
    made.steps(number, seconds=[1.0] * 2, items=10, first=2, start_s=20.0, incarnation=1)
    assert work(made) == 40.0


def test_declared_work_outranks_counted_work() -> None:
    made = Handmade(levels=(1,), blocks=1)
    number = made.launch(workers=1)
    made.steps(number, seconds=[1.0] * 4, items=10)
    made.event(number, "useful_work", 5.0, rank=0, value=33.0)
    assert work(made) == 33.0
