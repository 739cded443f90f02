"""What was paid for, part by part?  Every expected sum is worked out in its test."""

from __future__ import annotations

from datetime import date
from typing import Any

import polars as pl
import pytest

from fireassay.estimates.estimate import Absent
from fireassay.frames.costs import ledger
from fireassay.metrics.cost import COMPONENTS, COST, COST_PER_ITEM, COST_TOTAL
from fireassay.metrics.metric import ALL
from fireassay.metrics.serving.cost import COST_PER_TOKEN
from fireassay.spec.sections.prices import Prices
from tests.handmade import Handmade
from tests.metrics.narrow import absence, estimated
from tests.serving_made import ServingMade


def prices(**keys: Any) -> Prices:
    return Prices.model_validate({"date": date(2026, 11, 30), "source": "list", **keys})


def parts(made: Handmade, configuration: str) -> dict[str, float]:
    measured = made.measured()
    values = {metric.name: metric.compute(measured, {})[configuration] for metric in (COST, *COMPONENTS)}
    return {name: value.value for name, value in values.items() if not isinstance(value, Absent)}


def test_the_example_of_compute_storage_and_egress_is_a_dollar_fifteen() -> None:
    """1 worker x 1 h x $1 + $0.05 + $0.10 = $1.15, for 1,200,000 items."""
    made = Handmade(levels=(1,), blocks=1, prices=prices(usd_per_worker_hour=1.0, storage_usd=0.05, egress_usd=0.10))
    number = made.launch(workers=1, wall_s=3600.0)
    made.steps(number, seconds=[3600.0], items=1_200_000)
    assert parts(made, "workers=1") == pytest.approx({"cost": 1.15, "cost_compute": 1.0, "cost_storage": 0.05, "cost_egress": 0.10})
    assert estimated(COST_PER_ITEM.compute(made.measured(), {})["workers=1"]).value == pytest.approx(1.15 / 1_200_000)


def test_storage_and_egress_by_size() -> None:
    """500 GB x $0.073 a GB-month x 2 h / 730 h = $0.10; 20 GB x $0.09 = $1.80; 4 workers x 2 h x $3 = $24."""
    keys = {"storage_gb": 500.0, "storage_usd_per_gb_month": 0.073, "egress_gb": 20.0, "egress_usd_per_gb": 0.09}
    made = Handmade(levels=(4,), blocks=1, prices=prices(usd_per_worker_hour=3.0, **keys))
    made.launch(workers=4, wall_s=7200.0)
    found = parts(made, "workers=4")
    assert found == pytest.approx({"cost": 25.90, "cost_compute": 24.0, "cost_storage": 0.10, "cost_egress": 1.80})


def test_reserved_hours_are_paid_whether_used_or_not() -> None:
    """10 worker-hours at $2 are reserved: a run of 1 worker x 3 h uses $6 of $20; one of 4 workers x 3 h pays its $24."""
    made = Handmade(levels=(1, 4), blocks=1, prices=prices(usd_per_worker_hour=2.0, market="reserved", reserved_worker_hours=10.0))
    made.launch(workers=1, wall_s=10_800.0)
    made.launch(workers=4, wall_s=10_800.0)
    assert parts(made, "workers=1") == pytest.approx({"cost": 20.0, "cost_compute": 6.0, "cost_reserved": 14.0})
    assert parts(made, "workers=4") == pytest.approx({"cost": 24.0, "cost_compute": 24.0, "cost_reserved": 0.0})


def test_a_reserved_hour_of_a_fleet_is_that_of_its_mean_worker() -> None:
    """$8 an hour for 6 workers: 12 reserved worker-hours are $16, of which an hour uses $8, whatever the level."""
    roles = [{"name": "prefill", "usd_per_worker_hour": 2.0, "workers": 2}, {"name": "decode", "usd_per_worker_hour": 1.0, "workers": 4}]
    made = Handmade(levels=(1,), blocks=1, prices=prices(roles=roles, market="reserved", reserved_worker_hours=12.0))
    made.launch(workers=1, wall_s=3600.0)
    assert parts(made, "workers=1") == pytest.approx({"cost": 16.0, "cost_compute": 8.0, "cost_reserved": 8.0})


def test_no_part_of_a_cost_has_an_interval_below_zero() -> None:
    """Of 1 s and 100 s, Student's t alone reaches to -$580 at $1 a second."""
    made = Handmade(levels=(1,), blocks=2, prices=prices(usd_per_worker_hour=3600.0))
    for block, wall in enumerate((1.0, 100.0)):
        made.launch(workers=1, block=block, wall_s=wall)
    compute = next(metric for metric in COMPONENTS if metric.name == "cost_compute")
    assert estimated(compute.compute(made.measured(), {})["workers=1"]).low == 0.0


def interrupted(*, fault: bool) -> Handmade:
    """Two spot workers at $1 a second each: a first attempt of 30 s fails; the second, of 20 s, loses 10 s to 18 s to an interruption.

    Steps 0-6 from 3 s, one a second; workers gone at 10.0; up at 14; from step 4 at 15 s; regained at 18 s; then step 7 until 19 s.
    """
    made = Handmade(levels=(2,), blocks=1, prices=prices(usd_per_worker_hour=3600.0, market="spot"))
    made.launch(workers=2, wall_s=30.0, status="failed", reason="the spot market took both")
    number = made.launch(workers=2, wall_s=20.0)
    row = list(made.rows["launches"][number])
    row[1], row[2], row[15] = 0, 1, 1  # slot 0, attempt 1, one restart
    made.rows["launches"][number] = tuple(row)
    for rank in range(2):
        made.steps(number, rank=rank, seconds=[1.0] * 7, start_s=3.0)
        made.event(number, "worker_gone", 10.0, rank=rank, incarnation=0)
        made.event(number, "worker_start", 13.0 + rank, rank=rank, incarnation=1)
        made.steps(number, rank=rank, seconds=[1.0] * 4, first=4, start_s=15.0, incarnation=1)
    if fault:
        made.event(number, "fault", 10.0, rank=1, incarnation=0, step=7)
    return made


@pytest.mark.parametrize("fault", [True, False])
def test_spot_interruptions_against_a_ledger_by_hand(fault: bool) -> None:
    """Paid: 2 x 30 s for nothing, then 2 x 20 s of which 2 x 8 s repeat or wait: lost 60 + 16, compute 40 - 16, in all $100."""
    made = interrupted(fault=fault)
    assert parts(made, "workers=2") == pytest.approx({"cost": 100.0, "cost_compute": 24.0, "cost_lost_work": 76.0})
    assert estimated(COST_TOTAL.compute(made.measured(), {})[ALL]).value == pytest.approx(100.0)  # no attempt twice


def test_the_parts_of_the_ledger_add_up_to_the_cost() -> None:
    made = interrupted(fault=True)
    measured = made.measured()
    rows = ledger(measured, measured.timed).drop("launch", "earlier")
    assert rows.select(pl.sum_horizontal(pl.all())).item() == pytest.approx(estimated(COST.compute(measured, {})["workers=2"]).value)


def test_a_fleet_is_priced_by_its_roles() -> None:
    """2 prefill at $4 + 6 decode at $3 + 1 router at $0.5 = $26.50 an hour; for 1800 s $13.25."""
    roles = [
        {"name": "prefill", "usd_per_worker_hour": 4.0, "workers": 2},
        {"name": "decode", "usd_per_worker_hour": 3.0, "workers": 6},
        {"name": "router", "usd_per_worker_hour": 0.5, "workers": 1},
    ]
    made = Handmade(levels=(9,), blocks=1, prices=prices(roles=roles))
    made.launch(workers=9, wall_s=1800.0)
    assert parts(made, "workers=9") == pytest.approx({"cost": 13.25, "cost_compute": 13.25})


def test_a_part_without_a_price_is_absent_and_says_which() -> None:
    made = Handmade(levels=(1,), blocks=1, prices=1.0)
    made.launch(workers=1)
    storage = next(metric for metric in COMPONENTS if metric.name == "cost_storage")
    assert "storage" in absence(storage.compute(made.measured(), {})["workers=1"]).detail


def served(*, cached: int | None, known: bool = True) -> ServingMade:
    made = ServingMade(
        prices=prices(usd_per_million_input_tokens=2.0, usd_per_million_cached_tokens=0.5, usd_per_million_output_tokens=10.0)
    )
    made.launch()
    for place in range(4):
        tokens_in = 1_000_000 if known else None
        made.request(0, 0.5 + place, tokens_in=tokens_in, cached=cached, tokens_out=100_000, chunks=1)
    return made


def test_tokens_in_cached_and_out_have_their_own_price() -> None:
    """Each of 4 requests: 0.6 M x $2 + 0.4 M x $0.5 + 0.1 M x $10 = 1.2 + 0.2 + 1.0 = $2.40."""
    measured = served(cached=400_000).measured()
    name = measured.configurations[0]
    assert estimated(COST.compute(measured, {})[name]).value == pytest.approx(9.60)


def test_tokens_that_nobody_counted_are_no_zero() -> None:
    measured = served(cached=None, known=False).measured()
    assert "tokens" in absence(COST.compute(measured, {})[measured.configurations[0]]).detail


def test_the_cost_per_token_of_the_window_pays_for_its_tokens() -> None:
    """Without workers only tokens are paid: $2.40 for 100,000 output tokens, whichever requests end in the window."""
    measured = served(cached=400_000).measured()
    assert estimated(COST_PER_TOKEN.compute(measured, {})[measured.configurations[0]]).value == pytest.approx(2.4e-5)
