"""serial_fraction_apart: the serial work alone, where Amdahl's fit takes communication for it."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics import serial_fraction, speedup
from assay.metrics.base import ALL
from assay.metrics.serial_fraction_apart import METRIC
from tests.metrics.scaling_records import only
from tests.simulated_made import TRUTH, record


def test_communication_is_not_taken_for_serial_work() -> None:
    found = only(METRIC, record())
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(TRUTH["serial"], rel=0.10)
    assert found.low < TRUTH["serial"] < found.high
    times = {"speedup": speedup.METRIC.compute(record(), {})}
    amdahl = serial_fraction.METRIC.compute(record(), times)[ALL]
    assert isinstance(amdahl, Estimate)
    assert amdahl.low > 2.0 * TRUTH["serial"]


def test_weak_scaling_cannot_tell() -> None:
    found = only(METRIC, record(weak=True))
    assert isinstance(found, Absent)
    assert found.reason == "not_applicable"


def test_one_block_bounds_nothing() -> None:
    found = only(METRIC, record(launches=1))
    assert isinstance(found, Estimate)
    assert found.high == float("inf")


def test_no_serial_work_at_all_is_still_no_exact_number() -> None:
    found = only(METRIC, record(serial=0.0))
    assert isinstance(found, Estimate)
    assert 0.0 <= found.low <= found.value < 0.01
    assert found.high > found.low
