"""outage_detect_time: the first sign of an outage."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.outage_detect_time import METRIC
from tests.metrics.outages_made import outage


def test_the_first_failed_request_or_the_prober() -> None:
    """Struck at 10.05 s; the first failure ends at 10.11 s, the prober is sure at 10.2 s. Without failures: 0.15 s."""
    value = METRIC.compute(outage().measured(), {})["rate=10"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(0.06)
    silent = METRIC.compute(outage(missing=None).measured(), {})["rate=10"]
    assert isinstance(silent, Estimate)
    assert silent.value == pytest.approx(0.15)


def test_what_never_showed_has_none() -> None:
    assert isinstance(METRIC.compute(outage(missing=None, down_s=None).measured(), {})["rate=10"], Absent)


def test_without_a_fault_there_is_none() -> None:
    value = METRIC.compute(outage(struck=False).measured(), {})["rate=10"]
    assert isinstance(value, Absent)
    assert "[[faults]]" in value.detail
