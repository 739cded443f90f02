"""If the step at which a restarted job continued is unknown, no number rests on it."""

from __future__ import annotations

import pytest

from fireassay.estimates.estimate import Absent
from fireassay.frames.training.recovery import unknown_progress
from fireassay.metrics.training.correctness import SAMPLES_LOST
from fireassay.metrics.training.faults import (
    COST_LOST,
    RECOVERY_TIME,
    STEPS_LOST,
    TIME_TO_RECOMPUTE,
    TIME_TO_RELOAD,
    TRAINING_GOODPUT_FAULT,
)
from fireassay.verdict.judge import judge
from tests.handmade import Handmade
from tests.metrics.narrow import estimated
from tests.struck import struck

pytestmark = pytest.mark.slow


NUMBERS = (STEPS_LOST, RECOVERY_TIME, TIME_TO_RECOMPUTE, TRAINING_GOODPUT_FAULT, COST_LOST)


def resumed(*steps: int | None) -> Handmade:
    """The launch of tests/struck.py, which went on from step 4, as its ranks say it."""
    made = struck()
    for rank, step in enumerate(steps):
        made.event(0, "resumed", 15.0, rank=rank, incarnation=1, step=step, detail={"why": "" if step is not None else "it is alien"})
    return made


def test_a_step_that_all_ranks_recognised_is_the_one_that_counts() -> None:
    assert unknown_progress(resumed(4, 4).measured()) == {}
    assert estimated(STEPS_LOST.compute(resumed(4, 4).measured(), {})["workers=2"]).value == 3.0


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ((None, None), "on rank 0 it is alien"),
        ((4, None), "on rank 1 it is alien"),
        ((4, 3), "different steps (3, 4)"),
        ((9, 9), "continued from step 9 but had made 7: a state of another run"),
    ],
)
def test_otherwise_every_number_that_rests_on_it_is_absent_with_the_reason(steps: tuple[int | None, ...], words: str) -> None:
    measured = resumed(*steps).measured()
    assert words in unknown_progress(measured)[0].detail
    for metric in NUMBERS:
        value = metric.compute(measured, {})["workers=2"]
        assert isinstance(value, Absent), metric.name
        assert metric is COST_LOST or words in value.detail, metric.name


def test_independent_values_are_reported() -> None:
    """The workers are up at 14 s and train at 15 s, whatever step that is."""
    assert estimated(TIME_TO_RELOAD.compute(resumed(None, None).measured(), {})["workers=2"]).value == pytest.approx(1.0)


def test_the_verdict_says_so() -> None:
    made = resumed(None, None)
    dimension = judge(made.measured()).verdict.dimensions["workers=2"]["reliability"]
    assert dimension.status == "INCONCLUSIVE"
    assert "the step at which the job continued after the restart is unknown" in dimension.sentence


def test_samples_of_such_a_launch_are_not_judged() -> None:
    made = resumed(None, None)
    made.fingerprint(0, "dataset_size", 4)
    made.samples(0, [0, 1], step=0)
    made.samples(0, [0, 1], step=0, incarnation=1)
    assert isinstance(SAMPLES_LOST.compute(made.measured(), {})["workers=2"], Absent)
