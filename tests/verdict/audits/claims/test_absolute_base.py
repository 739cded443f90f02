"""absolute_base: no ratio without the value of its base, no number without its unit (Hoefler & Belli, rule 1)."""

from __future__ import annotations

import pytest

from tests.verdict.claiming import BASELINE, NOTHING, THROUGHPUT, claim, found, the_finding


@pytest.mark.parametrize("key", ["value", "unit"])
def test_a_speedup_without_the_absolute_value_of_its_base_is_named(key: str) -> None:
    finding = the_finding(claim({"baseline": {k: v for k, v in BASELINE.items() if k != key}}), "base_not_absolute")
    assert (finding.severity, finding.needs) == ("warning", ("base_value",))


def test_a_speedup_without_any_base_is_named() -> None:
    assert found(claim({"baseline": NOTHING, "global_batch": NOTHING}))["base_not_absolute"] == "warning"


def test_a_number_without_a_unit_is_named() -> None:
    numbers = [{key: value for key, value in THROUGHPUT.items() if key != "unit"}]
    assert found(claim(numbers=numbers)) == {"unit_missing": "warning"}


def test_a_score_needs_no_unit_and_the_whole_claim_is_clear() -> None:
    assert found(claim(numbers=[{"metric": "accuracy", "value": 0.9}])) == {}
    assert found(claim()) == {}
