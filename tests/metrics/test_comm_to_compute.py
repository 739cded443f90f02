"""comm_to_compute: what is communicated for what is computed."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.comm_to_compute import METRIC
from tests.handmade import Handmade
from tests.metrics.communication_made import calls, told


def test_computing_is_the_step_without_its_waits() -> None:
    """100 ms, 10 of them for data and 30 exposed: 60 of computing; 45 of communicating: 0.75."""
    made = Handmade(levels=(1, 2), blocks=1)
    number = made.launch(workers=2)
    for rank in (0, 1):
        made.steps(number, rank=rank, seconds=[0.1] * 3, phases_s={"data": 0.01})
        for step in range(3):
            calls(made, number, rank, step, [(40, 85)])
            told(made, number, rank, step, "group", 30.0)
    values = METRIC.compute(made.measured(), {})
    found = values["workers=2"]
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(0.75)
    assert isinstance(values["workers=1"], Absent)


def test_by_kernels_both_are_kernels() -> None:
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2, role="profile")
    made.steps(made.launch(workers=2), seconds=[0.1] * 3)
    for rank in (0, 1):
        told(made, number, rank, 1, "kineto", 5.0, total_ms=20.0, compute_ms=50.0)
    found = METRIC.compute(made.measured(), {})["workers=2"]
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(0.4)
