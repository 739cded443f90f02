"""forward_time: the forward phase of the slowest rank, median over steps; null phases are absent, never 0."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.forward_time import METRIC
from tests.handmade import Handmade


def test_the_phase_is_taken_from_the_slowest_rank_of_each_step() -> None:
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2)
    made.steps(number, rank=0, seconds=[1.0, 1.0, 1.0], phases_s={"forward": 0.9})
    made.steps(number, rank=1, seconds=[2.0, 2.0, 2.0], phases_s={"forward": 0.25})
    value = METRIC.compute(made.measured(), {})["workers=2"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(0.25)


def test_a_phase_that_was_not_marked_is_absent() -> None:
    made = Handmade(levels=(1,), blocks=1)
    made.steps(made.launch(workers=1), seconds=[1.0, 1.0])
    assert isinstance(METRIC.compute(made.measured(), {})["workers=1"], Absent)


def test_the_interval_does_not_go_where_no_time_can_be() -> None:
    """1 and 3 ms: 2 ms -+ 12.7 sqrt(2) / sqrt(2), which would begin at -10.7 ms."""
    made = Handmade(levels=(2,), blocks=2)
    for block, seconds in enumerate((0.001, 0.003)):
        number = made.launch(workers=2, block=block)
        made.steps(number, rank=0, seconds=[1.0] * 3, phases_s={"forward": seconds})
    value = METRIC.compute(made.measured(), {})["workers=2"]
    assert isinstance(value, Estimate)
    assert (value.low, value.value, value.high) == pytest.approx((0.0, 0.002, 0.002 + 0.0127062), rel=1e-4)
