"""restarts: the highest incarnation of any rank, over the whole job."""

from __future__ import annotations

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.restarts import METRIC
from tests.handmade import Handmade
from tests.struck import struck


def test_the_rank_that_was_restarted_most_counts() -> None:
    made = struck()
    made.event(0, "worker_start", 16.0, rank=1, incarnation=3)  # of another node, whose engine counts for itself
    value = METRIC.compute(made.measured(), {})["workers=2"]
    assert isinstance(value, Estimate)
    assert (value.value, value.low, value.high) == (3.0, 3.0, 3.0)


def test_without_a_fault_it_is_absent() -> None:
    made = Handmade(levels=(2,), blocks=1)
    made.launch(workers=2)
    assert isinstance(METRIC.compute(made.measured(), {})["workers=2"], Absent)
