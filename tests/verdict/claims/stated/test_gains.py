"""Gains and efficiencies that numbers claim, worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from fireassay.spec.claim import Claim
from fireassay.verdict.claims.stated.gains import efficiency, gain, pairs


def said(*numbers: dict[str, Any], **what: Any) -> Claim:
    return Claim.model_validate({"claim": {"text": "x", "source": "y"} | what, "number": list(numbers)})


BASE = {"workers": 1, "value": 100.0, "unit": "items/s"}


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        ({"metric": "speedup", "value": 6.0}, 6.0),
        ({"metric": "throughput", "value": 600.0, "unit": "items/s", "baseline": BASE}, 6.0),
        ({"metric": "step time", "value": 250.0, "unit": "ms", "baseline": {"value": 2.0, "unit": "s"}}, 8.0),
        ({"metric": "improvement", "value": 60.0, "unit": "%"}, 1.6),
        ({"metric": "latency reduction", "value": 60.0, "unit": "%"}, 2.5),
        ({"metric": "latency reduction", "value": 3.7, "unit": "x"}, 3.7),
        ({"metric": "latency ratio", "value": 0.5, "unit": "ratio"}, 2.0),
        ({"metric": "throughput ratio", "value": 93.0, "unit": "%"}, 0.93),
        ({"metric": "overhead", "value": 25.0, "unit": "%"}, 0.8),
        ({"metric": "slowdown", "value": 2.5, "unit": "x"}, 0.4),
        ({"metric": "throughput", "value": 24.0, "unit": "ratio", "baseline": {}}, 24.0),
        ({"metric": "accuracy", "value": 0.9, "baseline": {"value": 0.8}}, None),
        ({"metric": "throughput", "value": 600.0, "unit": "items/s", "baseline": {"value": 5.0, "unit": "s"}}, None),
        ({"metric": "MFU", "value": 41.0, "unit": "%"}, None),
        ({"metric": "latency reduction", "value": 120.0, "unit": "%"}, None),
        ({"metric": "throughput", "value": 600.0, "unit": "items/s"}, None),
    ],
)
def test_a_gain_is_read_from_every_form(number: dict[str, Any], expected: float | None) -> None:
    assert gain(said(number).number[0]) == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        ({"metric": "speedup", "value": 6.0, "workers": 8, "baseline": BASE}, 0.75),
        ({"metric": "efficiency", "value": 91.0, "unit": "%", "workers": 8}, 0.91),
        ({"metric": "efficiency", "value": 91.0, "workers": 8}, 0.91),
        ({"metric": "speedup", "value": 6.0, "workers": 16, "baseline": BASE | {"workers": 2}}, 0.75),
        ({"metric": "speedup", "value": 6.0, "workers": 8, "baseline": {"kind": "other_system"}}, None),
        ({"metric": "speedup", "value": 6.0}, None),
        (
            {
                "metric": "step time",
                "value": 1.25,
                "unit": "s",
                "workers": 8,
                "scaling": "weak",
                "baseline": {"workers": 1, "value": 1.0, "unit": "s"},
            },
            0.8,
        ),
        ({"metric": "throughput", "value": 90.0, "unit": "items/s/GPU", "workers": 8, "baseline": BASE | {"unit": "items/s/GPU"}}, 0.9),
        ({"metric": "energy efficiency", "value": 12.0, "unit": "tokens/J", "workers": 8}, None),
        ({"metric": "speedup", "value": 1.1, "workers": 1, "baseline": BASE}, None),
    ],
)
def test_an_efficiency_is_the_gain_over_the_workers(number: dict[str, Any], expected: float | None) -> None:
    made = said(number)
    assert efficiency(made, made.number[0]) == (None if expected is None else pytest.approx(expected))


def test_workers_may_stand_in_the_conditions() -> None:
    made = Claim.model_validate(
        {
            "claim": {"text": "x", "source": "y"},
            "number": [{"metric": "speedup", "value": 4.0}],
            "conditions": {"baseline": {"hardware": "1x A100"}, "candidate": {"hardware": "8x A100"}},
        }
    )
    assert efficiency(made, made.number[0]) == pytest.approx(0.5)


def test_two_numbers_of_one_system_make_a_pair_and_two_systems_do_not() -> None:
    rate = {"metric": "throughput", "unit": "items/s", "statistic": "median"}
    ((_, _, own),) = pairs(said(rate | {"value": 100, "workers": 1}, rate | {"value": 600, "workers": 8}))
    assert own == pytest.approx(0.75)
    assert pairs(said(rate | {"value": 100, "workers": 1, "of": "A"}, rate | {"value": 600, "workers": 8, "of": "B"})) == []
