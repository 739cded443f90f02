"""wall_time: from the launcher's start until its last process is gone."""

from __future__ import annotations

import math

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.wall_time import METRIC
from tests.handmade import Handmade


def test_the_interval_is_student_t_on_the_logs_of_the_launches() -> None:
    made = Handmade(levels=(1,), blocks=2)
    made.launch(workers=1, block=0, wall_s=1.0)
    made.launch(workers=1, block=1, wall_s=4.0)
    value = METRIC.compute(made.measured(), {})["workers=1"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(2.0)  # geometric mean
    # half-width on the log scale: t(.975, 1 df) = 12.7062; sd of (ln 1, ln 4) = ln 4 / sqrt 2; / sqrt 2
    half = 12.7062047 * math.log(4.0) / 2.0
    assert math.log(value.high / value.value) == pytest.approx(half, rel=1e-6)


def test_one_launch_has_no_interval_and_no_launch_no_value() -> None:
    made = Handmade(levels=(1, 2), blocks=1)
    made.launch(workers=1, wall_s=3.0)
    values = METRIC.compute(made.measured(), {})
    one = values["workers=1"]
    assert isinstance(one, Estimate)
    assert (one.value, one.low, one.high) == (pytest.approx(3.0), 0.0, math.inf)
    assert isinstance(values["workers=2"], Absent)
