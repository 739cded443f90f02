"""recovery_time_serving: fault until the attainment is back."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.recovery_time_serving import METRIC
from tests.metrics.outages_made import outage


def test_it_is_the_due_time_of_the_first_request_after_the_last_miss() -> None:
    """10 requests a second; the fault strikes at 10.05 s, every second request misses from 10.1 s until 14.5 s: 14.6 - 10.05."""
    value = METRIC.compute(outage(missing=(10.05, 14.55)).measured(), {})["rate=10"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(4.55)


def test_a_fault_that_nobody_felt_takes_no_time() -> None:
    value = METRIC.compute(outage(missing=None).measured(), {})["rate=10"]
    assert isinstance(value, Estimate)
    assert (value.value, value.high) == (0.0, 0.0)


def test_a_load_that_ends_before_recovery_says_so() -> None:
    value = METRIC.compute(outage(missing=(10.05, 99.0)).measured(), {})["rate=10"]
    assert isinstance(value, Absent)
    assert (value.reason, "not back" in value.detail) == ("undefined", True)


def test_a_fault_at_once_has_nothing_to_go_back_to() -> None:
    value = METRIC.compute(outage(struck_s=0.0, missing=(0.0, 4.0)).measured(), {})["rate=10"]
    assert isinstance(value, Absent)
    assert "at_s" in value.detail


def test_without_a_fault_there_is_none() -> None:
    value = METRIC.compute(outage(struck=False).measured(), {})["rate=10"]
    assert isinstance(value, Absent)
    assert "[[faults]]" in value.detail


def test_what_assay_took_to_start_the_replica_again_is_not_the_engines() -> None:
    """The same, 0.4 s of which the process was not there that was to be started 3 s after the fault."""
    value = METRIC.compute(outage(for_s=3.0, started_s=13.45).measured(), {})["rate=10"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(4.15)


def test_who_recovered_before_the_restart_did_not_wait_for_it() -> None:
    """The last miss was due at 11.9 s, the next request at 12 s: before the replica was to be started again."""
    value = METRIC.compute(outage(missing=(10.05, 12.05), for_s=3.0, started_s=13.45).measured(), {})["rate=10"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(1.95)
