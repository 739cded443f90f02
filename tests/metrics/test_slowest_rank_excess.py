"""slowest_rank_excess: by how much of a step one rank is slower all through a launch."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.slowest_rank_excess import METRIC
from tests.handmade import Handmade
from tests.metrics.straggling import Training, record


def test_it_is_the_slow_ranks_own_time_beyond_the_others_over_the_step_by_hand() -> None:
    """Own times 70, 80 and 100 ms of steps of 100 ms: the slowest is 20 ms beyond the slower of the others."""
    made = Handmade(levels=(3,), blocks=2)
    for block in range(2):
        number = made.launch(workers=3, block=block)
        for rank, own in enumerate((70, 80, 100)):
            made.steps(number, rank=rank, seconds=[0.1] * 20, phases_s={"backward": 0.05})
            made.rows["waits"] += [(number, rank, 0, step, "backward", 0, (100 - own) * 1_000_000) for step in range(20)]
    found = METRIC.compute(made.measured(), {})["workers=3"]
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(0.2)


def test_ranks_that_are_alike_have_next_to_none_though_they_wait_for_each_other() -> None:
    found = METRIC.compute(record(Training(ranks=4, seed=2), launches=3).measured(), {})["workers=4"]
    assert isinstance(found, Estimate)
    assert abs(found.value) < 0.05


def test_it_is_absent_alone_where_waiting_is_not_known_and_without_a_launch() -> None:
    made = Handmade(levels=(1, 2, 4), blocks=1)
    for workers in (1, 2):
        number = made.launch(workers=workers)
        for rank in range(workers):
            made.steps(number, rank=rank, seconds=[0.1] * 20)
    found = METRIC.compute(made.measured(), {}).values()
    reasons = [value.reason for value in found if isinstance(value, Absent)]
    assert reasons == ["not_applicable", "not_measured", "not_measured"]
