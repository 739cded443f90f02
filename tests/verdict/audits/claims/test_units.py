"""units: points and fractions, totals and rates per GPU, units that a metric cannot have."""

from __future__ import annotations

from typing import Any

import pytest

from tests.verdict.claiming import BASELINE, NOTHING, NUMBER, claim, found, the_finding


@pytest.mark.parametrize(
    ("scores", "confused"),
    [
        ({"baseline": 0.902, "candidate": 0.899, "margin": 0.5}, True),
        ({"baseline": 90.2, "candidate": 89.9, "margin": 0.005}, True),
        ({"baseline": 0.871, "candidate": 86.9, "margin": 0.01}, True),
        ({"baseline": 90.2, "candidate": 89.9, "margin": 0.5}, False),
        ({"baseline": 0.902, "candidate": 0.899, "margin": 0.005}, False),
        ({"metric": "perplexity", "baseline": 12.0, "candidate": 12.0, "margin": 0.01}, False),
        ({"baseline": 90.0, "candidate": 80.0, "margin": 50}, True),
        ({"metric": "F1", "baseline": 0.88, "candidate": 88.0}, True),
        ({"metric": "loss", "baseline": 0.9, "candidate": 0.9, "margin": 0.5}, False),
    ],
)
def test_scores_and_margin_are_on_one_scale(scores: dict[str, Any], confused: bool) -> None:
    rules = found(claim(quality=scores))
    assert ("score_scales_differ" in rules) is confused
    assert not confused or "quality_lost" not in rules, "a loss on two scales is none"


def test_the_sentence_names_the_keys_and_what_to_do() -> None:
    finding = the_finding(claim(quality={"margin": 0.5}), "score_scales_differ")
    assert "quality.margin = 0.5 would allow 50 points" in finding.evidence
    assert "on one scale" in finding.remedy


@pytest.mark.parametrize(
    ("unit", "base", "wrong"),
    [
        ("tokens/s", "tokens/s/GPU", "per worker"),
        ("total tokens/s", "output tokens/s", "output tokens"),
        ("tokens/s", "requests/s", "requests"),
        ("tokens/s", "s", "a time"),
        ("tok/s", "tokens per second", ""),
        ("GB/s", "Gbit/s", ""),
        ("items/s", "images/s", ""),
        ("frobs", "tokens/s", ""),
        ("J/token", "kWh", "a total"),
        ("USD/million tokens", "USD", "a total"),
    ],
)
def test_both_sides_count_the_same(unit: str, base: str, wrong: str) -> None:
    said = claim({"metric": "throughput", "unit": unit, "baseline": BASELINE | {"unit": base}})
    assert ("units_of_sides_differ" in found(said)) is bool(wrong)
    assert not wrong or wrong in the_finding(said, "units_of_sides_differ").evidence


@pytest.mark.parametrize(
    ("metric", "unit", "value", "wrong"),
    [
        ("latency", "tokens/s", 45.0, True),
        ("throughput", "ms", 45.0, True),
        ("speedup", "s", 6.0, True),
        ("efficiency", "%", 0.85, True),
        ("efficiency", "ratio", 85.0, True),
        ("MFU", "%", 0.41, True),
        ("accuracy", "%", 0.87, True),
        ("latency", "ms", 45.0, False),
        ("efficiency", "%", 85.0, False),
        ("efficiency", NOTHING, 85.0, False),
        ("improvement", "%", 0.5, False),
    ],
)
def test_a_metric_has_a_unit_of_its_own(metric: str, unit: Any, value: float, wrong: bool) -> None:
    number = {"metric": metric, "unit": unit, "value": value, "interval": NOTHING, "baseline": NOTHING}
    assert ("unit_of_another_metric" in found(claim(number))) is wrong


def test_a_limit_in_another_unit_is_named() -> None:
    wait = {"metric": "latency", "value": 0.2, "unit": "s", "statistic": "p99", "trials": 5000}
    said = claim(numbers=[wait], slo={"objective": "fast", "metric": "latency", "limit": 30, "unit": "tokens/s"})
    assert found(said)["limit_in_another_unit"] == "invalid"


def test_a_score_and_its_base_are_on_one_scale_too() -> None:
    score = {"metric": "accuracy", "value": 88.0, "unit": "%", "run": "r1"}
    assert "score_scales_differ" in found(claim(numbers=[NUMBER, score | {"baseline": {"value": 0.92}}]))
    assert "score_scales_differ" not in found(claim(numbers=[NUMBER, score | {"baseline": {"value": 0.92, "unit": "fraction"}}])), (
        "they convert"
    )
