"""amdahl_ceiling: 1/s, and no ceiling where the data show none."""

from __future__ import annotations

import math

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.amdahl_ceiling import METRIC
from assay.metrics.base import ALL
from tests.handmade import Handmade


def serial(value: float, low: float, high: float) -> Estimate:
    return Estimate(value=value, low=low, high=high, unit="fraction", confidence=0.95, n_launches=5, n_trials=15, method="m", signature="s")


def ceiling(value: Estimate | Absent) -> Estimate | Absent:
    found = METRIC.compute(Handmade().measured(), {"serial_fraction": {ALL: value}})[ALL]
    assert isinstance(found, Estimate | Absent)
    return found


def test_the_ceiling_is_the_inverse_with_its_ends_swapped() -> None:
    found = ceiling(serial(0.0376, 0.03, 0.05))
    assert isinstance(found, Estimate)
    assert (round(found.value, 1), found.low, found.high) == (26.6, pytest.approx(20.0), pytest.approx(1 / 0.03))


def test_a_fraction_that_may_be_zero_bounds_the_ceiling_from_below_only() -> None:
    found = ceiling(serial(0.02, -0.01, 0.05))
    assert isinstance(found, Estimate)
    assert (found.low, found.high) == (pytest.approx(20.0), math.inf)


def test_no_serial_part_no_ceiling() -> None:
    assert isinstance(ceiling(serial(-0.01, -0.02, 0.0)), Absent)
    assert isinstance(ceiling(Absent(reason="insufficient", detail="d")), Absent)
