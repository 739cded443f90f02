"""threshold: the whole interval decides, and too few launches decide nothing."""

from __future__ import annotations

import math
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.estimates.estimate import Absent, Estimate, Reason
from fireassay.verdict.gates.gate import threshold

Side = Literal["at least", "at most"]


def value(low: float, high: float, *, launches: int = 5, confidence: float = 0.95) -> Estimate:
    return Estimate(
        value=(low + high) / 2,
        low=low,
        high=high,
        unit="ratio",
        confidence=confidence,
        n_launches=launches,
        n_trials=launches,
        method="by hand",
        signature="by hand",
    )


def status(low: float, high: float, limit: float, side: Side, *, launches: int = 5) -> str:
    return threshold("g", "workers=2", "it", value(low, high, launches=launches), limit, side).status


@pytest.mark.parametrize(
    ("low", "high", "least", "most"),
    [
        (0.71, 0.80, "PASS", "FAIL"),
        (0.50, 0.69, "FAIL", "PASS"),
        (0.65, 0.75, "INCONCLUSIVE", "INCONCLUSIVE"),
        (0.70, 0.80, "PASS", "INCONCLUSIVE"),  # an end on the bound: the bound itself is good enough
        (0.60, 0.70, "INCONCLUSIVE", "PASS"),
        (0.0, math.inf, "INCONCLUSIVE", "INCONCLUSIVE"),
    ],
)
def test_pass_and_fail_need_the_whole_interval_on_one_side(low: float, high: float, least: str, most: str) -> None:
    assert status(low, high, 0.70, "at least") == least
    assert status(low, high, 0.70, "at most") == most


@pytest.mark.parametrize("launches", [1, 2])
def test_fewer_than_three_launches_decide_nothing_even_if_they_agree_to_the_last_digit(launches: int) -> None:
    for low, high in ((0.9, 0.91), (0.9, 0.9), (0.1, 0.1)):
        result = threshold("g", "workers=2", "it", value(low, high, launches=launches), 0.7, "at least")
        assert result.status == "INCONCLUSIVE"
        assert result.sentence.endswith("no verdict, use at least 3")


def test_what_is_exact_needs_no_launches() -> None:
    exact = value(1.0, 1.0, launches=1, confidence=1.0)
    assert threshold("g", "workers=1", "it", exact, 0.7, "at least").status == "PASS"


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("not_measured", "NOT_MEASURED"),
        ("not_applicable", "NOT_MEASURED"),
        ("insufficient", "INCONCLUSIVE"),
        ("undefined", "INCONCLUSIVE"),
        ("refused", "INCONCLUSIVE"),
    ],
)
def test_an_absent_value_passes_and_fails_nothing(reason: Reason, expected: str) -> None:
    result = threshold("g", "workers=2", "it", Absent(reason=reason, detail="why"), 0.7, "at least")
    assert (result.status, result.sentence) == (expected, "it: why")


def test_the_sentence_holds_the_value_its_interval_and_the_gate() -> None:
    result = threshold("g", "workers=2", "efficiency", value(0.8, 0.9), 0.7, "at least")
    assert result.sentence == "efficiency 0.850 [0.800, 0.900] meets the gate of at least 0.7"


NUMBERS = st.floats(-1e6, 1e6)


@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS, st.integers(1, 6))
def test_a_stricter_threshold_never_turns_a_decision_for_the_better(a: float, b: float, one: float, two: float, launches: int) -> None:
    low, high = sorted((a, b))
    loose, strict = sorted((one, two))
    order = ["FAIL", "INCONCLUSIVE", "PASS"]
    at_least = [order.index(status(low, high, limit, "at least", launches=launches)) for limit in (loose, strict)]
    at_most = [order.index(status(low, high, limit, "at most", launches=launches)) for limit in (strict, loose)]
    assert at_least[0] >= at_least[1]
    assert at_most[0] >= at_most[1]
