"""requests_lost: what failed after the fault, and how."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.requests_lost import METRIC
from tests.metrics.outages_made import outage


def test_every_failure_after_the_fault_is_named() -> None:
    """Every second request from 10.1 to 14.5 s is refused by replica 1: 23 of 45 (10.1, 10.3 ... 14.5)."""
    value = METRIC.compute(outage(missing=(10.05, 14.55)).measured(), {})["rate=10"]
    assert isinstance(value, Estimate)
    assert (value.value, value.low, value.high) == (23.0, 23.0, 23.0)
    assert "23 refused" in value.method
    assert "23 1" in value.method


def test_launches_that_differ_have_an_interval() -> None:
    """23 and 13 lost: mean 18."""
    value = METRIC.compute(outage(missing=(10.05, 14.55), again=(10.05, 12.55)).measured(), {})["rate=10"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(18.0)
    assert value.low < 18.0 < value.high


def test_without_a_fault_there_is_none() -> None:
    value = METRIC.compute(outage(struck=False).measured(), {})["rate=10"]
    assert isinstance(value, Absent)
    assert "[[faults]]" in value.detail
