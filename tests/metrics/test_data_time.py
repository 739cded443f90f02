"""data_time: the data phase of the slowest rank, median over steps; null phases are absent, never 0."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.data_time import METRIC
from tests.handmade import Handmade


def test_the_phase_is_taken_from_the_slowest_rank_of_each_step() -> None:
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2)
    made.steps(number, rank=0, seconds=[1.0, 1.0, 1.0], phases_s={"data": 0.9})
    made.steps(number, rank=1, seconds=[2.0, 2.0, 2.0], phases_s={"data": 0.25})
    value = METRIC.compute(made.measured(), {})["workers=2"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(0.25)


def test_a_phase_that_was_not_marked_is_absent() -> None:
    made = Handmade(levels=(1,), blocks=1)
    made.steps(made.launch(workers=1), seconds=[1.0, 1.0])
    assert isinstance(METRIC.compute(made.measured(), {})["workers=1"], Absent)
