"""cost_total: every launch was paid for."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Estimate
from assay.metrics.base import ALL
from assay.metrics.cost_total import METRIC
from tests.handmade import Handmade


def test_failed_and_fault_launches_are_paid_for_too() -> None:
    made = Handmade(levels=(1, 2), blocks=1, prices=3600.0)  # one dollar per worker-second
    made.launch(workers=1, wall_s=10.0)
    made.launch(workers=2, wall_s=5.0, status="failed")
    made.launch(workers=2, wall_s=7.0, role="fault")
    value = METRIC.compute(made.measured(), {})[ALL]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(10.0 + 10.0 + 14.0)
