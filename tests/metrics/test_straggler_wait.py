"""straggler_wait: rank-seconds that a step loses until its slowest rank is ready."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.straggler_wait import METRIC
from tests.handmade import Handmade
from tests.metrics.straggling import Training, record


def test_it_is_what_the_others_wait_by_hand() -> None:
    """Steps of 100 ms on three ranks that wait 0, 30 and 45 ms of it: 75 ms of three ranks' time are lost, whoever is the slowest."""
    made = Handmade(levels=(3,), blocks=3)
    ms = 1_000_000
    for block in range(3):
        number = made.launch(workers=3, block=block)
        for rank, waiting in enumerate((0, 30, 45)):
            made.steps(number, rank=rank, seconds=[0.1] * 20, phases_s={"backward": 0.05})
            made.rows["waits"] += [(number, rank, 0, step, "backward", 0, waiting * ms) for step in range(20)]
    found = METRIC.compute(made.measured(), {})["workers=3"]
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(0.075)


def test_a_late_rank_makes_all_others_wait() -> None:
    """Three others by 200 ms each; what all lose by luck beside it is a few milliseconds."""
    late, clean = (
        METRIC.compute(record(Training(ranks=4, seed=1, late=slow), launches=3).measured(), {})["workers=4"]
        for slow in ({(2, "data"): 200.0}, {})
    )
    assert isinstance(late, Estimate)
    assert isinstance(clean, Estimate)
    assert late.value == pytest.approx(0.6, rel=0.05)
    assert clean.value < 0.06


def test_it_is_absent_alone_and_where_waiting_is_not_known() -> None:
    made = Handmade(levels=(1, 2), blocks=1)
    for workers in (1, 2):
        number = made.launch(workers=workers)
        for rank in range(workers):
            made.steps(number, rank=rank, seconds=[0.1] * 20, phases_s={"backward": 0.05})
    found = METRIC.compute(made.measured(), {})
    alone, unseen = found["workers=1"], found["workers=2"]
    assert isinstance(alone, Absent)
    assert isinstance(unseen, Absent)
    assert (alone.reason, unseen.reason) == ("not_applicable", "not_measured")
