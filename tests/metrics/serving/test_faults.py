"""Shares of failures with their classes, and what a struck replica cost: `outages_made` says which load it is."""

from __future__ import annotations

from typing import Any

import pytest

from fireassay.metrics.serving.faults import GOODPUT_UNDER_FAILURE, OUTAGE_DETECT_TIME, OUTAGE_TIME, RECOVERY_TIME, REQUESTS_LOST
from tests.metrics.serving.outages_made import outage
from tests.metrics.serving.values import absent, estimate, every_second
from tests.serving_made import ServingMade

FAILURES = pytest.mark.parametrize(("name", "expected"), [("availability", 4 / 6), ("error_rate", 2 / 6)])


@FAILURES
def test_classes_are_named_with_their_number(name: str, expected: float) -> None:
    """Of 6 requests one is refused and one times out."""
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    for second, status in enumerate(["ok", "refused", "ok", "timeout", "ok", "ok"]):
        made.request(number, float(second), status=status)
    value = estimate(name, made)
    assert value.value == pytest.approx(expected)
    assert "1 refused, 1 timeout" in value.method


@FAILURES
def test_no_failure_is_no_certainty(name: str, expected: float) -> None:
    made = ServingMade(rate=(1.0,), blocks=3)
    for block in range(3):
        number = made.launch(block=block)
        for second in range(10):
            made.request(number, float(second))
    value = estimate(name, made)
    assert value.high - value.low == pytest.approx(1 - 0.025 ** (1 / 30))  # Clopper and Pearson, 0 of 30
    assert "none failed" in value.method


@FAILURES
def test_nothing_due_is_no_share(name: str, expected: float) -> None:
    absent(name, every_second(0))


@pytest.mark.parametrize(
    "name",
    [
        "requests_lost",
        "outage_time",
        "outage_detect_time",
        "slo_before",
        "slo_during",
        "slo_after",
        "goodput_under_failure",
        "recovery_time_serving",
    ],
)
def test_without_a_fault_there_is_none(name: str) -> None:
    assert "[[faults]]" in absent(name, outage(struck=False), "rate=10").detail


# ---- what a fault cost -------------------------------------------------------------------------------------------


def test_every_failure_after_the_fault_is_named() -> None:
    """Every second request from 10.1 to 14.5 s is refused by replica 1: 23 of 45 (10.1, 10.3 ... 14.5)."""
    value = estimate(REQUESTS_LOST, outage(missing=(10.05, 14.55)), "rate=10")
    assert (value.value, value.low, value.high) == (23.0, 23.0, 23.0)
    assert "23 refused" in value.method
    assert "23 1" in value.method


def test_launches_that_differ_have_an_interval() -> None:
    """23 and 13 lost: mean 18."""
    value = estimate(REQUESTS_LOST, outage(missing=(10.05, 14.55), again=(10.05, 12.55)), "rate=10")
    assert value.value == pytest.approx(18.0)
    assert value.low < 18.0 < value.high


@pytest.mark.parametrize(
    ("name", "expected", "requests"),
    [
        ("slo_before", 1.0, 101),  # 0.0 ... 10.0 s, all answered 0.01 s later
        ("slo_during", 22 / 45, 45),  # due 10.1 ... 14.5 s, of which 23 are refused; the replica is back at 14.55 s
        ("slo_after", 1.0, 104),  # due 14.6 ... 24.9 s, all answered
    ],
)
def test_attainment_is_the_share_before_during_and_after(name: str, expected: float, requests: int) -> None:
    value = estimate(name, outage(missing=(10.05, 14.55), up_s=14.55), "rate=10")
    assert (value.value, value.n_trials, value.n_launches) == (pytest.approx(expected), requests, 1)


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ({"up_s": 14.55}, 22 / 4.5),  # 10.05 ... 14.55 s: 22 good requests in 4.5 s
        ({"up_s": None, "undone": False}, (148 - 23) / 14.85),  # not undone: until the end, 148 due in [10.05, 24.9), 23 refused
    ],
)
def test_goodput_under_failure_is_over_the_outage_alone(how: dict[str, Any], expected: float) -> None:
    assert estimate(GOODPUT_UNDER_FAILURE, outage(missing=(10.05, 14.55), **how), "rate=10").value == pytest.approx(expected)


# ---- how long it took --------------------------------------------------------------------------------------------


def test_an_outage_is_between_the_probes_that_saw_it() -> None:
    """Down at 10.1 s, up at 14.5 s."""
    assert estimate(OUTAGE_TIME, outage(), "rate=10").value == pytest.approx(4.4)


def test_a_replica_that_never_came_back_has_none() -> None:
    assert absent(OUTAGE_TIME, outage(up_s=None), "rate=10").reason == "undefined"


def test_assays_own_restart_delay_is_excluded() -> None:
    """Struck at 10.05 s for 3 s, but the process was there only at 13.45 s: 0.4 s of 4.4 s are assay's."""
    value = estimate(OUTAGE_TIME, outage(for_s=3.0, started_s=13.45), "rate=10")
    assert value.value == pytest.approx(4.0)
    assert "less 400 ms by which assay was late to start it again" in value.method


@pytest.mark.parametrize("how", [{"for_s": 3.0}, {"started_s": 13.45}, {"for_s": 3.0, "started_s": 13.0}])
def test_without_a_delay_that_is_known_nothing_is_taken_off(how: dict[str, Any]) -> None:
    value = estimate(OUTAGE_TIME, outage(**how), "rate=10")
    assert value.value == pytest.approx(4.4)
    assert "assay" not in value.method


def test_the_first_sign_is_a_failed_request_or_the_prober() -> None:
    """Struck at 10.05 s; the first failure ends at 10.11 s, the prober is sure at 10.2 s. Without failures: 0.15 s."""
    assert estimate(OUTAGE_DETECT_TIME, outage(), "rate=10").value == pytest.approx(0.06)
    assert estimate(OUTAGE_DETECT_TIME, outage(missing=None), "rate=10").value == pytest.approx(0.15)


def test_an_invisible_outage_has_no_first_sign() -> None:
    absent(OUTAGE_DETECT_TIME, outage(missing=None, down_s=None), "rate=10")


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        # The fault strikes at 10.05 s, every second request misses from 10.1 s until 14.5 s: 14.6 - 10.05.
        ({"missing": (10.05, 14.55)}, 4.55),
        # 0.4 s of it the process was not there that was to be started 3 s after the fault.
        ({"for_s": 3.0, "started_s": 13.45}, 4.15),
        # The last miss was due at 11.9 s, the next request at 12 s: before the replica was to be started again.
        ({"missing": (10.05, 12.05), "for_s": 3.0, "started_s": 13.45}, 1.95),
    ],
)
def test_recovery_is_the_due_time_of_the_first_request_after_the_last_miss(how: dict[str, Any], expected: float) -> None:
    assert estimate(RECOVERY_TIME, outage(**how), "rate=10").value == pytest.approx(expected)


def test_a_fault_without_effect_takes_no_time() -> None:
    value = estimate(RECOVERY_TIME, outage(missing=None), "rate=10")
    assert (value.value, value.high) == (0.0, 0.0)


def test_a_load_that_ends_before_recovery_says_so() -> None:
    value = absent(RECOVERY_TIME, outage(missing=(10.05, 99.0)), "rate=10")
    assert (value.reason, "not recovered" in value.detail) == ("undefined", True)


def test_a_fault_at_once_has_nothing_to_go_back_to() -> None:
    assert "at_s" in absent(RECOVERY_TIME, outage(struck_s=0.0, missing=(0.0, 4.0)), "rate=10").detail
