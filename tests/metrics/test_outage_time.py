"""outage_time: how long the struck replica was away."""

from __future__ import annotations

import pytest

from assay.metrics.estimate import Absent, Estimate
from assay.metrics.outage_time import METRIC
from tests.metrics.outages_made import outage


def test_it_is_between_the_probes_that_saw_it() -> None:
    """Down at 10.1 s, up at 14.5 s."""
    value = METRIC.compute(outage().measured(), {})["rate=10"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(4.4)


def test_a_replica_that_never_came_back_has_none() -> None:
    value = METRIC.compute(outage(up_s=None).measured(), {})["rate=10"]
    assert isinstance(value, Absent)
    assert value.reason == "undefined"


def test_without_a_fault_there_is_none() -> None:
    value = METRIC.compute(outage(struck=False).measured(), {})["rate=10"]
    assert isinstance(value, Absent)
    assert "[[faults]]" in value.detail
