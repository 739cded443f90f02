"""training_goodput: productive rank-seconds over all rank-seconds of the timed launches."""

from __future__ import annotations

import pytest

from assay.metrics.estimate import Absent, Estimate
from assay.metrics.rank_seconds import CATEGORIES, partition
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
    made = struck()
    number = 0
    made.event(number, "evaluation", 19.0, rank=0, incarnation=1, duration_s=0.5)
    made.event(number, "checkpoint_save", 7.0, rank=0, incarnation=0, duration_s=0.25)
    parts = partition(made.measured(), "fault").row(0, named=True)
    assert sum(parts[name] for name in CATEGORIES) == pytest.approx(40.0)  # 2 workers x 20 s
    assert parts["productive"] == pytest.approx(16.0)  # steps 0-7 once, on two ranks
    assert parts["recompute"] == pytest.approx(6.0)  # steps 4-6 were done once for nothing
    assert (parts["evaluation"], parts["checkpoint"]) == (pytest.approx(0.5), pytest.approx(0.25))


def test_without_marked_steps_it_is_absent() -> None:
    made = Handmade(levels=(1,), blocks=1)
    made.launch(workers=1)
    assert isinstance(METRIC.compute(made.measured(), {})["workers=1"], Absent)
