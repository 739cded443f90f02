"""goodput_under_failure: good requests while a replica was away."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.goodput_under_failure import METRIC
from tests.metrics.outages_made import outage


def test_it_is_over_the_outage_alone() -> None:
    """10.05 ... 14.55 s: 22 good requests in 4.5 s."""
    value = METRIC.compute(outage(missing=(10.05, 14.55), up_s=14.55).measured(), {})["rate=10"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(22 / 4.5)


def test_a_fault_that_was_not_undone_lasts_until_the_end() -> None:
    """10.05 ... 24.9 s: 148 due in [10.05, 24.9), of which 23 are refused."""
    value = METRIC.compute(outage(missing=(10.05, 14.55), up_s=None, undone=False).measured(), {})["rate=10"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx((148 - 23) / 14.85)


def test_without_a_fault_there_is_none() -> None:
    value = METRIC.compute(outage(struck=False).measured(), {})["rate=10"]
    assert isinstance(value, Absent)
    assert "[[faults]]" in value.detail
