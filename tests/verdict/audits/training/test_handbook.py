"""The handbook's rules: 1.5 times the loading of the base, 30 % communication, 80 % busy."""

from __future__ import annotations

import pytest

from fireassay import catalog
from fireassay.estimates.estimate import Absent, Value
from fireassay.metrics.metric import Results
from fireassay.verdict.types import Finding
from tests.builders import estimate
from tests.handmade import Handmade

BASE, LARGER = "workers=1", "workers=2"
DATA, COMMUNICATION, BUSY = (catalog.load("verdict.audits", f"bottleneck_handbook_{name}") for name in ("data", "communication", "busy"))
AUDITS = (DATA, COMMUNICATION, BUSY)
MISSING = Absent("not_measured", "")


def examined(audit: object, results: Results) -> list[Finding]:
    made = Handmade(levels=(1, 2), blocks=1)
    for workers in (1, 2):
        made.launch(workers=workers)
    return list(audit.examine(made.measured(), results))  # type: ignore[attr-defined]


def loading(base: float, larger: float, half: float = 0.0) -> Results:
    return {
        "data_time": {BASE: estimate(base, half, "s"), LARGER: estimate(larger, half, "s")},
        "step_time": {BASE: estimate(1.0, 0.0, "s"), LARGER: estimate(1.0, 0.0, "s")},
    }


def test_loading_may_take_one_and_a_half_times_that_of_the_base() -> None:
    assert examined(DATA, loading(0.10, 0.15)) == []
    (found,) = examined(DATA, loading(0.10, 0.16))
    assert (found.severity, found.configuration) == ("note", LARGER)
    assert "waits 160 ms for data, 1.6 times as long as at the base (100 ms); limit 1.5 times" in found.evidence
    assert "chapter 10" in found.evidence
    assert "includes the limit" not in found.evidence
    assert "num_workers" in found.remedy


def test_twice_next_to_nothing_is_nothing() -> None:
    assert examined(DATA, loading(0.001, 0.009)) == []
    assert examined(DATA, loading(0.0, 0.5)) == []


def communicating(value: float, half: float = 0.0) -> Results:
    return {"comm_exposed": {LARGER: estimate(value, half, "s")}, "step_time": {LARGER: estimate(1.0, 0.0, "s")}}


def test_communication_may_take_thirty_per_cent() -> None:
    assert examined(COMMUNICATION, communicating(0.30)) == []
    (found,) = examined(COMMUNICATION, communicating(0.31))
    assert "takes 31 % of a step; limit 30 %" in found.evidence


def busy(**values: Value) -> Results:
    return {name: {LARGER: value} for name, value in values.items()}


def test_devices_should_be_busy_for_eighty_per_cent() -> None:
    assert examined(BUSY, busy(device_busy=estimate(0.80, 0.0, "fraction"))) == []
    (found,) = examined(BUSY, busy(device_busy=estimate(0.55, 0.05, "fraction")))
    assert "55.0 % [50.0, 60.0] of the time, by NVML samples; limit 80 %" in found.evidence


def test_a_profile_stands_in_only_where_nvml_gave_nothing() -> None:
    low, high = estimate(0.5, 0.0, "fraction"), estimate(0.9, 0.0, "fraction")
    assert examined(BUSY, busy(device_busy=high, device_busy_profiled=low)) == []
    (found,) = examined(BUSY, busy(device_busy=MISSING, device_busy_profiled=low))
    assert "by a profile" in found.evidence


@pytest.mark.parametrize(
    ("audit", "results"),
    [
        (DATA, loading(0.10, 0.16, 0.02)),
        (COMMUNICATION, communicating(0.31, 0.02)),
        (BUSY, busy(device_busy=estimate(0.79, 0.02, "fraction"))),
    ],
)
def test_an_interval_that_holds_the_limit_is_said(audit: object, results: Results) -> None:
    (found,) = examined(audit, results)
    assert found.evidence.endswith("the interval includes the limit")


@pytest.mark.parametrize("audit", AUDITS)
def test_what_was_not_measured_breaks_no_rule(audit: object) -> None:
    names = ("data_time", "step_time", "comm_exposed", "device_busy", "device_busy_profiled")
    assert examined(audit, {}) == []
    assert examined(audit, {name: {BASE: MISSING, LARGER: MISSING} for name in names}) == []


def test_waiting_for_a_slow_rank_is_no_communication() -> None:
    """0.4 s exposed, of which 0.15 s is waiting: 25 % is left."""
    waiting = {"straggler_wait": {LARGER: estimate(0.15, 0.0, "s")}}
    assert examined(COMMUNICATION, {**communicating(0.40), **waiting}) == []
