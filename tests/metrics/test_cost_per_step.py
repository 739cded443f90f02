"""cost_per_step: the second reference table of METRICS.md."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics import cost_per_step, step_time
from tests.handmade import Handmade

SECONDS = {1: 10.00, 2: 7.69, 4: 5.00, 8: 3.85}
DOLLARS = {1: 0.2000, 2: 0.3076, 4: 0.4000, 8: 0.6160}


def test_the_reference_table_gives_its_documented_dollars_per_step() -> None:
    made = Handmade(levels=tuple(SECONDS), blocks=1, prices=0.02 * 3600)
    for workers, seconds in SECONDS.items():
        made.steps(made.launch(workers=workers), seconds=[seconds] * 3)
    measured = made.measured()
    values = cost_per_step.METRIC.compute(measured, {"step_time": step_time.METRIC.compute(measured, {})})
    for workers, dollars in DOLLARS.items():
        value = values[f"workers={workers}"]
        assert isinstance(value, Estimate)
        assert value.value == pytest.approx(dollars)


def test_no_price_no_dollars() -> None:
    measured = Handmade().measured()
    assert all(isinstance(value, Absent) for value in cost_per_step.METRIC.compute(measured, {}).values())
