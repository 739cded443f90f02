"""wide_interval: intervals that leave open what the claim says."""

from __future__ import annotations

from typing import Any

import pytest

from tests.verdict.claiming import BASELINE, NOTHING, NUMBER, claim, found, the_finding


def interval(low: float | None, high: float | None, **changes: Any) -> bool:
    ends = {name: end for name, end in (("low", low), ("high", high)) if end is not None}
    rules = found(claim({"interval": ends | {"kind": "confidence"}} | changes))
    return bool(rules.keys() & {"interval_undecided", "interval_open"})


def test_an_interval_wider_than_its_value_decides_nothing() -> None:
    assert interval(0.5, 30.0, value=12.0, workers=32)
    assert not interval(9.0, 15.0, value=12.0, workers=32)
    finding = the_finding(
        claim({"value": 12.0, "workers": 32, "interval": {"low": 0.5, "high": 30, "kind": "confidence"}}), "interval_undecided"
    )
    assert finding.evidence == "number.interval is 0.5 to 30 around 12: it is wider than the value itself"


@pytest.mark.parametrize(
    ("value", "low", "high", "undecided"),
    [(1.04, 0.97, 1.11, True), (1.04, 1.01, 1.07, False), (1.0, 0.99, 1.01, False), (0.93, 0.91, 0.95, False), (0.97, 0.92, 1.02, True)],
)
def test_a_change_needs_an_interval_without_no_change(value: float, low: float, high: float, undecided: bool) -> None:
    """Within 3 % of no change the interval shows equality."""
    assert interval(low, high, value=value) is undecided


def test_percent_and_absolute_values_are_changes_too() -> None:
    percent = {"metric": "throughput improvement", "unit": "%", "value": 5.0}
    assert interval(-2.0, 12.0, **percent)
    assert not interval(1.0, 12.0, **percent), "wider than 5, and more all the same"
    rate = {"metric": "throughput", "unit": "items/s", "value": 104.0, "workers": 1, "baseline": BASELINE}
    assert interval(97.0, 111.0, **rate)
    assert not interval(102.0, 106.0, **rate)


def test_an_efficiency_may_hold_1_and_a_spread_is_no_interval() -> None:
    assert not interval(0.85, 1.02, metric="efficiency", value=0.92)
    assert "interval_undecided" not in found(claim({"interval": {"low": 0.5, "high": 30, "kind": "standard_deviation"}}))


def test_one_end_is_enough_on_the_side_that_matters() -> None:
    assert not interval(5.8, None)
    assert interval(None, 6.2)
    wait = {"metric": "latency", "unit": "s", "statistic": "p99", "value": 0.2, "baseline": NOTHING}
    assert interval(0.19, None, **wait)
    assert not interval(None, 0.22, **wait)


def test_systems_that_are_ranked_lie_apart() -> None:
    def ranked(text: str, other: float) -> bool:
        plain = {key: value for key, value in NUMBER.items() if key != "baseline"} | {
            "metric": "throughput",
            "unit": "items/s",
            "statistic": "median",
        }
        one = plain | {"of": "A", "value": 500, "interval": {"low": 470, "high": 530, "kind": "confidence"}}
        two = plain | {"of": "B", "value": other, "interval": {"low": other - 30, "high": other + 30, "kind": "confidence"}}
        said = claim(numbers=[one, two], claim={"text": text, "source": "s", "exclusive": True, "varying": ["engine"]})
        return "intervals_overlap" in found(said)

    assert ranked("B is faster than A", 512)
    assert not ranked("B is faster than A", 580)
    assert not ranked("A and B do the same", 512)
