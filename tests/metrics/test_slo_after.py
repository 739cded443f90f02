"""slo_after: the attainment after a fault."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.slo_after import METRIC
from tests.metrics.outages_made import outage


def test_it_is_the_share_after() -> None:
    """Due 14.6 ... 24.9 s: 104 requests, all answered."""
    value = METRIC.compute(outage(missing=(10.05, 14.55), up_s=14.55).measured(), {})["rate=10"]
    assert isinstance(value, Estimate)
    assert (value.value, value.n_trials) == (pytest.approx(1.0), 104)
    assert value.n_launches == 1


def test_without_a_fault_there_is_none() -> None:
    value = METRIC.compute(outage(struck=False).measured(), {})["rate=10"]
    assert isinstance(value, Absent)
    assert "[[faults]]" in value.detail
