"""comm_exposed is a part of the phases, not another one: phases and the rest still make the step."""

from __future__ import annotations

import pytest

from assay.metrics.backward_time import METRIC as BACKWARD
from assay.metrics.comm_exposed import METRIC
from assay.metrics.data_time import METRIC as DATA
from assay.metrics.forward_time import METRIC as FORWARD
from assay.metrics.optimizer_time import METRIC as OPTIMIZER
from assay.metrics.step_time import METRIC as STEP
from assay.metrics.unknown_time import METRIC as UNKNOWN
from tests.handmade import Handmade
from tests.metrics.communication_made import calls, ms, told


def test_phases_make_the_step_with_the_exposed_part_inside() -> None:
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2)
    for rank in (0, 1):
        made.steps(number, rank=rank, seconds=[0.1] * 3, phases_s={"data": 0.01, "forward": 0.02, "backward": 0.05, "optimizer": 0.015})
        for step in range(3):
            calls(made, number, rank, step, [(50, 80)])
            told(made, number, rank, step, "group", 12.0)
    measured = made.measured()
    values = {
        metric.name: ms(metric.compute(measured, {})["workers=2"]) for metric in (DATA, FORWARD, BACKWARD, OPTIMIZER, UNKNOWN, STEP, METRIC)
    }
    assert values["comm_exposed"] == pytest.approx(12.0)
    assert sum(values[f"{name}_time"] for name in ("data", "forward", "backward", "optimizer", "unknown")) == pytest.approx(
        values["step_time"]
    )
    assert values["comm_exposed"] <= values["backward_time"]
