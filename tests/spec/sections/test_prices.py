"""Which prices contradict each other?"""

from __future__ import annotations

import tomllib
from datetime import date
from typing import Any

import pytest

from fireassay.estimates.price_words import price_words
from fireassay.spec.load import from_mapping, to_toml
from fireassay.spec.sections.prices import Prices, prices_add_up


def prices(**keys: Any) -> Prices:
    return Prices.model_validate({"date": date(2026, 11, 30), "source": "list", **keys})


def role(name: str, workers: int | None = None) -> dict[str, Any]:
    return {"name": name, "usd_per_worker_hour": 1.0, **({} if workers is None else {"workers": workers})}


@pytest.mark.parametrize(
    ("keys", "where"),
    [
        ({}, "prices.usd_per_worker_hour"),
        ({"usd_per_worker_hour": 1.0, "storage_usd": 1.0, "storage_gb": 1.0, "storage_usd_per_gb_month": 1.0}, "prices.storage_usd"),
        ({"usd_per_worker_hour": 1.0, "storage_gb": 1.0}, "prices.storage_usd_per_gb_month"),
        ({"usd_per_worker_hour": 1.0, "egress_usd_per_gb": 1.0}, "prices.egress_gb"),
        ({"usd_per_worker_hour": 1.0, "storage_usd": 1.0, "storage_hours": 1.0}, "prices.storage_hours"),
        ({"usd_per_worker_hour": 1.0, "market": "reserved"}, "prices.reserved_worker_hours"),
        ({"usd_per_worker_hour": 1.0, "reserved_worker_hours": 5.0}, "prices.reserved_worker_hours"),
        ({"usd_per_million_output_tokens": 1.0, "usd_per_million_cached_tokens": 1.0}, "prices.usd_per_million_input_tokens"),
        ({"roles": [role("prefill", 1), role("decode")]}, "prices.roles"),
        ({"usd_per_worker_hour": 1.0, "roles": [role("prefill", 1)]}, "prices.roles"),
        ({"roles": [role("a"), role("a")]}, "prices.roles"),
    ],
)
def test_half_or_double_prices_are_refused(keys: dict[str, Any], where: str) -> None:
    assert [problem.where for problem in prices_add_up(prices(**keys))] == [where]


def test_prices_survive_the_file_of_the_record() -> None:
    table = {"date": date(2026, 11, 30), "source": "list", "roles": [role("prefill", 2)], "storage_usd": 0.05, "market": "spot"}
    asked = from_mapping({"name": "n", "workload": {"script": "t.py"}, "factor": {"levels": [1]}, "prices": table})
    assert from_mapping(tomllib.loads(to_toml(asked))) == asked


def test_prices_in_words_name_every_part() -> None:
    words = price_words(prices(usd_per_worker_hour=2.0, storage_usd=0.05, egress_gb=3.0, egress_usd_per_gb=0.09, market="spot"))
    assert words == "$2 per worker-hour, spot, storage $0.05, egress of 3 GB at $0.09 per GB (2026-11-30, list)"
