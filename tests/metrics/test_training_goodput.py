"""training_goodput: productive rank-seconds over all rank-seconds of the timed launches."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.frames.training.rank_time import CATEGORIES
from assay.metrics.rank_seconds import partition
from assay.metrics.training_goodput import METRIC
from tests.handmade import Handmade
from tests.struck import struck


def test_steps_less_data_and_checkpoints_are_productive() -> None:
    """2 workers x 20 s; 5 steps of 2 s on both, of each 0.5 s data and 0.5 s checkpoint: 2 x 5 x 1 of 40."""
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2, wall_s=20.0)
    for rank in range(2):
        made.steps(number, rank=rank, seconds=[2.0] * 5, phases_s={"data": 0.5}, checkpoint_s=0.5)
    value = METRIC.compute(made.measured(), {})["workers=2"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(0.25)


def test_the_categories_sum_to_all_rank_seconds() -> None:
    """See `struck`: begin 0, steps from 3 s, fault 10 s, noticed 10.5, started 13 and 14, first step 15 s, last until 19 s, end 20 s."""
    made = struck()
    made.event(0, "evaluation", 19.0, rank=0, incarnation=1, duration_s=0.5)
    made.event(0, "worker_end", 19.75, rank=0, incarnation=1)
    made.event(0, "worker_end", 19.0, rank=1, incarnation=1)
    parts = partition(made.measured(), "fault").row(0, named=True)
    assert sum(parts[name] for name in CATEGORIES) == pytest.approx(40.0)  # 2 workers x 20 s
    told = {name: parts[name] for name in CATEGORIES if parts[name]}
    assert told == {
        "productive": pytest.approx(16.0),  # steps 0-7 once, on two ranks
        "recompute": pytest.approx(6.0),  # steps 4-6 were done once for nothing
        "init": pytest.approx(6.0),
        "detect": pytest.approx(1.0),
        "restart": pytest.approx(2.5 + 3.5),
        "reload": pytest.approx(2.0 + 1.0),
        "evaluation": pytest.approx(0.5),
        "unknown": pytest.approx(0.25),
        "idle": pytest.approx(0.25 + 1.0),
    }


def test_without_marked_steps_it_is_absent() -> None:
    made = Handmade(levels=(1,), blocks=1)
    made.launch(workers=1)
    assert isinstance(METRIC.compute(made.measured(), {})["workers=1"], Absent)
