"""cost_basis: costs without a price or a day, energies without a meter, are left open."""

from __future__ import annotations

from typing import Any

import pytest

from tests.verdict.claiming import LATENCY, claim, found

OWN = {"exclusive": True, "source": "s"}


def said(metric: str, unit: str, text: str = "cheap", conditions: dict[str, Any] | None = None, **what: Any) -> dict[str, str]:
    number = LATENCY | {"metric": metric, "unit": unit, "statistic": "median", "conditions": conditions or {}}
    rules = found(claim(numbers=[number], claim=OWN | {"text": text} | what))
    return {rule: severity for rule, severity in rules.items() if rule in ("price_unsaid", "meter_unsaid")}


@pytest.mark.parametrize(("unit", "expected"), [("USD/million tokens", {"price_unsaid": "note"}), ("$", {"price_unsaid": "note"})])
def test_a_cost_without_price_and_day_is_left_open(unit: str, expected: dict[str, str]) -> None:
    assert said("cost", unit) == expected
    assert said("cost", unit, text="0.42 USD per million output tokens") == expected, "the cost is not its own price"
    assert said("cost", unit, date="2026-09-01") == {}
    assert said("cost", unit, conditions={"price": "2.10 USD per GPU-hour"}) == {}
    assert said("cost", unit, text="0.42 USD per million tokens at 2.10 USD per GPU-hour") == {}


def test_an_energy_without_its_meter_is_left_open() -> None:
    assert said("energy per token", "J/token") == {"meter_unsaid": "note"}
    assert said("energy per token", "J/token", text="0.3 J per token on 8 nodes") == {"meter_unsaid": "note"}
    assert said("energy per token", "J/token", text="0.3 J per token at the wall") == {}
    assert said("energy per token", "J/token", conditions={"meter": "NVML"}) == {}
    assert said("energy per token", "J/token", conditions={"scope": "wall plug with PUE 1.2"}) == {}
