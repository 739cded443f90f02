"""A fault strikes the planned rank, once, a fixed number of steps after the planned checkpoint, and not before."""

from __future__ import annotations

import pytest

from assay.faults.base import aim, should_strike
from assay.record.progress import Progress
from assay.spec.plan import PlannedFault


def rank(*, steps: int, checkpoints: int = 0, checkpoint_step: int = -1, incarnation: int = 0) -> Progress:
    return Progress(
        pid=1,
        incarnation=incarnation,
        steps=steps,
        checkpoints=checkpoints,
        checkpoint_step=checkpoint_step,
        updated_ns=0,
        errno=0,
    )


def fault(*, victim: int = 1, after: int = 1, delay: int = 5) -> PlannedFault:
    return PlannedFault(kind="kill", rank=victim, after_checkpoints=after, delay_steps=delay, signal="KILL")


def test_before_the_checkpoint_nothing_is_aimed_at() -> None:
    assert aim({0: rank(steps=100), 1: rank(steps=100)}, fault()) is None
    assert aim({0: rank(steps=100, checkpoints=1, checkpoint_step=90)}, fault(after=2)) is None
    assert aim({}, fault()) is None


def test_it_is_aimed_so_many_steps_after_the_checkpoint_whichever_rank_saved_it() -> None:
    progress = {0: rank(steps=20, checkpoints=1, checkpoint_step=20), 1: rank(steps=19)}
    assert aim(progress, fault(delay=5)) == 25


def test_without_a_checkpoint_to_wait_for_it_is_aimed_from_the_beginning() -> None:
    assert aim({}, fault(after=0, delay=3)) == 3


@pytest.mark.parametrize(("steps", "strikes"), [(24, False), (25, True), (40, True)])
def test_it_strikes_when_the_victim_has_reached_the_step(steps: int, strikes: bool) -> None:
    assert should_strike({0: rank(steps=99), 1: rank(steps=steps)}, fault(), 25) is strikes


def test_a_restarted_victim_is_left_alone() -> None:
    assert not should_strike({1: rank(steps=99, incarnation=1)}, fault(), 25)


def test_an_absent_victim_is_waited_for() -> None:
    assert not should_strike({0: rank(steps=99)}, fault(victim=1), 25)


def test_without_an_aim_nothing_happens() -> None:
    assert not should_strike({1: rank(steps=99)}, fault(), None)
