"""arithmetic: contradictory numbers, and numbers that cannot be."""

from __future__ import annotations

from typing import Any

import pytest

from tests.verdict.claiming import BASELINE, LATENCY, NOTHING, NUMBER, claim, found, the_finding

RATE: dict[str, Any] = {key: value for key, value in NUMBER.items() if key not in ("baseline", "interval", "scaling")} | {
    "metric": "throughput",
    "unit": "items/s",
    "statistic": "median",
}


@pytest.mark.parametrize(("rate", "contradicts"), [(600.0, False), (615.0, False), (450.0, True), (800.0, True)])
def test_a_speedup_is_the_ratio_of_the_rates_beside_it(rate: float, contradicts: bool) -> None:
    """6.0 times the base's 100 items/s."""
    assert ("numbers_contradict" in found(claim(numbers=[NUMBER, RATE | {"value": rate}]))) is contradicts


def test_times_and_percent_are_ratios_too() -> None:
    seconds = NUMBER | {"baseline": BASELINE | {"value": 2.0, "unit": "s"}}
    step = RATE | {"metric": "step time", "unit": "ms"}
    assert "numbers_contradict" not in found(claim(numbers=[seconds, step | {"value": 333.0}]))
    assert "numbers_contradict" in found(claim(numbers=[seconds, step | {"value": 500.0}]))
    more = NUMBER | {
        "metric": "improvement",
        "unit": "%",
        "value": 60,
        "interval": {"low": 58, "high": 62},
        "baseline": BASELINE | {"value": 39.0},
    }
    assert "numbers_contradict" not in found(claim(numbers=[more, RATE | {"value": 62.4}]))


@pytest.mark.parametrize(("efficiency", "unit", "contradicts"), [(75.0, "%", False), (0.75, "ratio", False), (90.0, "%", True)])
def test_an_efficiency_is_the_speedup_over_the_workers(efficiency: float, unit: str, contradicts: bool) -> None:
    """6 times on 8 workers."""
    own = NUMBER | {
        "metric": "efficiency",
        "value": efficiency,
        "unit": unit,
        "interval": {"low": efficiency * 0.99, "high": efficiency * 1.01},
    }
    assert ("numbers_contradict" in found(claim(numbers=[NUMBER, own]))) is contradicts


def test_percentiles_rise_with_their_level() -> None:
    def waits(median: float, unit: str) -> dict[str, str]:
        bounds = {"low": median * 0.99, "high": median * 1.01, "kind": "confidence"}
        return found(claim(numbers=[LATENCY, LATENCY | {"statistic": "median", "value": median, "unit": unit, "interval": bounds}]))

    assert "numbers_contradict" in waits(0.3, "s")
    assert "numbers_contradict" not in waits(0.1, "s")
    assert "numbers_contradict" not in waits(120.0, "ms"), "120 ms are below 0.2 s"


def test_goodput_is_a_part_and_rates_per_worker_add_up() -> None:
    goodput = RATE | {"metric": "goodput", "unit": "requests/s", "value": 60.0}
    assert "numbers_contradict" in found(claim(numbers=[goodput, RATE | {"unit": "requests/s", "value": 44.0}]))
    each = RATE | {"unit": "tokens/s/GPU", "value": 3100.0}
    assert (
        "add up to 24800; the published total is 18000"
        in the_finding(claim(numbers=[each, RATE | {"unit": "tokens/s", "value": 18000.0}]), "numbers_contradict").evidence
    )
    assert "numbers_contradict" not in found(claim(numbers=[each, RATE | {"unit": "tokens/s", "value": 24800.0}]))


@pytest.mark.parametrize(
    ("number", "impossible"),
    [
        ({"metric": "MFU", "unit": "%", "value": 108.0}, True),
        ({"metric": "MFU", "unit": "ratio", "value": 1.08}, True),
        ({"metric": "MFU", "unit": "%", "value": 58.0}, False),
        ({"metric": "latency reduction", "unit": "%", "value": 130.0}, True),
        ({"metric": "latency reduction", "unit": "%", "value": 60.0}, False),
        ({"metric": "latency reduction", "unit": "x", "value": 3.7}, False),
        ({"metric": "step time", "unit": "s", "value": -1.0}, True),
        ({"metric": "improvement", "unit": "%", "value": -3.0}, False),
        ({"metric": "accuracy", "value": 101.0}, True),
        ({"metric": "accuracy", "value": 0.9}, False),
        ({"metric": "GPU utilization", "unit": "%", "value": 97.0}, False),
        ({"launches": 5, "trials": 3}, True),
    ],
)
def test_what_cannot_be_is_named(number: dict[str, Any], impossible: bool) -> None:
    said = claim({"interval": NOTHING, "baseline": NOTHING} | number)
    assert ("impossible_value" in found(said)) is impossible


def test_a_score_above_everything_is_impossible() -> None:
    assert found(claim(quality={"baseline": 101.0, "candidate": 101.0, "margin": 0.5}))["impossible_value"] == "invalid"
