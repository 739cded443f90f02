"""What did a row of a table cost, storage, egress and lost work included?"""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from fireassay.errors import SpecError
from fireassay.spec.sections.prices import Prices
from fireassay.spec.timings import Stated, Timings, parse_timings


def read(text: str, *use: str, **prices: Any) -> Timings:
    given = Prices.model_validate({"date": date(2026, 1, 1), "source": "list", **prices}) if prices else None
    return parse_timings(text, "t.csv", asked=Stated(prices=given, use=use))


@pytest.mark.parametrize(
    ("storage", "egress"),
    [
        ("storage_usd", "egress_usd"),
        ("Storage ($)", "egress cost"),
        ("Storage cost ($)", "Egress ($)"),
        ("disk cost", "data transfer ($)"),
        ("cost of storage", "Network egress cost"),
    ],
)
def test_storage_and_egress_are_part_of_the_cost(storage: str, egress: str) -> None:
    """1 h x $1 + 0.05 + 0.10 = 1.15, whatever the columns are called."""
    (row,) = read(f"workers,seconds,price_per_hour,{storage},{egress}\n1,3600,1,0.05,0.10\n").rows
    assert row.usd == 1.15  # to the last digit, as the JSON shows it
    assert dict(row.parts) == pytest.approx({"compute": 1.0, "storage": 0.05, "egress": 0.10})


def test_interruptions_are_a_part_of_their_own() -> None:
    (row,) = read("workers,seconds,compute cost,interruption cost ($)\n2,3600,1.20,0.30\n").rows
    assert dict(row.parts) == pytest.approx({"compute": 1.20, "lost": 0.30})


def test_a_total_holds_its_parts_already() -> None:
    (row,) = read("workers,seconds,total cost ($),storage ($)\n2,3600,1.20,0.30\n").rows
    assert row.usd == pytest.approx(1.20)
    assert dict(row.parts) == pytest.approx({"compute": 0.90, "storage": 0.30})


def test_a_cost_that_may_hold_the_parts_or_not_is_asked_back() -> None:
    table = "workers,seconds,cost,egress_usd\n1,3600,2.0,0.5\n"
    with pytest.raises(SpecError, match="of everything, or of compute alone"):
        read(table)
    assert read(table, "total_cost=cost").rows[0].usd == pytest.approx(2.0)
    assert read(table, "compute_cost=cost").rows[0].usd == pytest.approx(2.5)


def test_a_total_below_its_parts_is_refused() -> None:
    with pytest.raises(SpecError, match="less than"):
        read("workers,seconds,total cost,storage ($)\n1,10,1,2\n")


def test_prices_of_the_user_price_every_row() -> None:
    """4 workers x 0.5 h x $3 = $6, 730 GB x $0.1 x 0.5 h / 730 h = $0.05, egress $1."""
    keys = {"storage_gb": 730.0, "storage_usd_per_gb_month": 0.1, "egress_usd": 1.0}
    (row,) = read("workers,seconds\n4,1800\n", usd_per_worker_hour=3.0, **keys).rows
    assert dict(row.parts) == pytest.approx({"compute": 6.0, "storage": 0.05, "egress": 1.0})


@pytest.mark.parametrize(
    ("table", "prices", "said"),
    [
        ("workers,seconds,cost\n1,10,1\n", {"usd_per_worker_hour": 1.0}, "beside the column cost"),
        ("workers,seconds,storage ($)\n1,10,1\n", {"usd_per_worker_hour": 1.0, "storage_usd": 1.0}, "beside the column storage"),
        ("workers,seconds,storage ($)\n1,10,1\n", {}, "without the cost of compute"),
        ("workers,seconds,price_per_hour,storage ($)\n1,10,1,1\n2,5,1,\n", {}, "an empty cell"),
        ("workers,step_seconds,price_per_hour,storage ($)\n1,10,1,1\n", {}, "beside the time of a step, or a rate"),
        ("workers,samples/s,price_per_hour,egress ($)\n1,10,1,1\n", {}, "beside the time of a step, or a rate"),
        ("workers,seconds,price_per_hour,storage ($)\n1,10,1,-1\n", {}, "at least 0"),
        ("workers,seconds,price_per_hour,storage ($)\n1,10,1,nan\n", {}, "at least 0"),
    ],
)
def test_what_cannot_be_added_up_is_refused(table: str, prices: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        read(table, **prices)


def test_reserved_hours_that_a_row_does_not_use_are_a_part_of_their_own() -> None:
    """10 worker-hours at $2 are $20: 8 workers x 560 s use 1.2444 of them, $2.49, and 4 workers x 3 h all and two more."""
    reserved = {"usd_per_worker_hour": 2.0, "market": "reserved", "reserved_worker_hours": 10.0}
    used, beyond = read("workers,seconds\n8,560\n4,10800\n", **reserved).rows[::-1]
    assert (used.workers, dict(used.parts)) == (8, pytest.approx({"compute": 8 * 560 / 1800, "reserved": 20.0 - 8 * 560 / 1800}))
    assert dict(beyond.parts) == pytest.approx({"compute": 24.0, "reserved": 0.0})


def test_a_reserved_hour_of_a_fleet_is_that_of_its_mean_worker() -> None:
    """2 x $2 + 4 x $1 are $8 an hour for 6 workers: 12 reserved worker-hours are $16; one hour uses $8 of them, whatever the row's workers."""
    roles = [{"name": "prefill", "usd_per_worker_hour": 2.0, "workers": 2}, {"name": "decode", "usd_per_worker_hour": 1.0, "workers": 4}]
    (row,) = read("workers,seconds\n8,3600\n", roles=roles, market="reserved", reserved_worker_hours=12.0).rows
    assert dict(row.parts) == pytest.approx({"compute": 8.0, "reserved": 8.0})
