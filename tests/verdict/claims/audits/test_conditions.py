"""Does a claim say under which conditions its numbers hold, and how sure they are?"""

from __future__ import annotations

from typing import Any

import pytest

from tests.verdict.claiming import BASELINE, LATENCY, NOTHING, NUMBER, claim, found, the_finding

# ---- wide interval ----
# wide_interval: intervals that leave open what the claim says.


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


# ---- extrapolation ----
# extrapolation: no further than twice the measured range.


@pytest.mark.parametrize(("workers", "expected"), [(16, {}), (17, {"extrapolated": "invalid"}), (1000, {"extrapolated": "invalid"})])
def test_twice_the_measured_range_is_the_limit(workers: int, expected: dict[str, str]) -> None:
    assert found(claim(prediction={"workers": workers, "measured_up_to": 8, "points": 4})) == expected


def test_the_distance_is_said() -> None:
    finding = the_finding(claim(prediction={"workers": 1000, "measured_up_to": 8}), "extrapolated")
    assert finding.evidence == "1,000 workers are 125 times the 8 that were measured"
    assert finding.needs == ("measured_there",)


def test_a_line_through_two_points_is_named() -> None:
    assert found(claim(prediction={"workers": 16, "measured_up_to": 8, "points": 2})) == {"too_few_points": "warning"}


def test_a_range_that_is_not_said_is_left_open() -> None:
    unsaid = {"workers": NOTHING, "baseline": BASELINE | {"workers": None}}
    assert "measured_range_unsaid" in found(claim(unsaid, prediction={"workers": 1000}))
    assert found(claim()) == {}


@pytest.mark.parametrize(("workers", "expected"), [(16, {}), (64, {"extrapolated": "invalid"})])
def test_the_measured_range_is_read_from_the_numbers(workers: int, expected: dict[str, str]) -> None:
    """The claim's only number is on 8 workers."""
    assert found(claim(prediction={"workers": workers})) == expected


# ---- quiet machine ----
# quiet_machine: whether others used the machines.


@pytest.mark.parametrize(("said", "expected"), [(True, {}), (False, {"machine_shared": "warning"}), (NOTHING, {"machine_unsaid": "note"})])
def test_a_claim_says_whether_the_machine_was_its_own(said: object, expected: dict[str, str]) -> None:
    assert found(claim(claim={"exclusive": said})) == expected


def test_a_score_needs_no_quiet_machine() -> None:
    numbers = [{"metric": "accuracy", "value": 0.9, "run": "r"}]
    assert found(claim(numbers=numbers, claim={"exclusive": False})) == {}


# ---- cost basis ----
# cost_basis: costs without a price or a day, energies without a meter, are left open.

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


# ---- load model ----
# load_model: waits of a closed loop whose clients are not counted.


@pytest.mark.parametrize(
    ("conditions", "named"),
    [
        ({"load": "closed loop"}, True),
        ({"arrival": "closed"}, True),
        ({"client": "closed-loop client"}, True),
        ({"load": "closed loop", "concurrency": 32}, False),
        ({"load": "open loop"}, False),
        ({}, False),
    ],
)
def test_a_closed_loop_says_its_clients(conditions: dict[str, object], named: bool) -> None:
    assert ("closed_loop_without_clients" in found(claim(numbers=[LATENCY | {"conditions": conditions}]))) is named


def test_a_closed_loop_in_words_is_one_and_a_training_has_none() -> None:
    what = {"text": "p99 of 0.2 s with a closed-loop client", "source": "s", "exclusive": True}
    assert found(claim(numbers=[LATENCY], claim=what))["closed_loop_without_clients"] == "warning"
    counted = what | {"text": "p99 of 0.2 s in a closed loop at a concurrency of 32"}
    assert "closed_loop_without_clients" not in found(claim(numbers=[LATENCY], claim=counted))
    assert "closed_loop_without_clients" not in found(claim(numbers=[NUMBER], claim=what))
