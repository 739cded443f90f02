"""A fault strikes the planned rank, once, a fixed number of steps after the planned checkpoint, and not before."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fireassay.faults.support.base import aim, victim_now
from fireassay.record.live.progress import Progress
from fireassay.spec.experiment import Experiment, Factor
from fireassay.spec.plan import PlannedFault, plan
from fireassay.spec.sections.faults import Fault as FaultSpec
from fireassay.spec.sections.workload import Workload


def rank(*, steps: int, checkpoints: int = 0, checkpoint_step: int = -1, incarnation: int = 0, saving: bool = False) -> Progress:
    return Progress(
        pid=1,
        incarnation=incarnation,
        steps=steps,
        checkpoints=checkpoints,
        checkpoint_step=checkpoint_step,
        updated_ns=0,
        errno=0,
        saving=saving,
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
    assert (victim_now({0: rank(steps=99), 1: rank(steps=steps)}, fault(), 25) == 1) is strikes


def test_a_restarted_victim_is_left_alone() -> None:
    assert victim_now({1: rank(steps=99, incarnation=1)}, fault(), 25) is None


def test_each_of_the_first_incarnations_is_struck_once_at_the_same_place() -> None:
    often = replace(fault(delay=5), times=2)
    again = {0: rank(steps=30, checkpoints=1, checkpoint_step=25, incarnation=1), 1: rank(steps=30, incarnation=1)}
    assert victim_now({1: rank(steps=25)}, often, 25) == 1
    assert victim_now({1: rank(steps=26)}, often, 25, struck=0) is None  # it has not gone yet
    assert aim({0: rank(steps=26, checkpoints=1, checkpoint_step=20)}, often, struck=0) is None  # nor is this a new checkpoint
    assert aim(again, often, struck=0) == 30
    assert victim_now(again, often, 30, struck=0) == 1
    assert victim_now({1: rank(steps=99, incarnation=2)}, often, 30, struck=1) is None


def test_before_the_first_step_is_as_soon_as_the_worker_is_there() -> None:
    early = fault(after=0, delay=0)
    assert victim_now({0: rank(steps=0)}, early, aim({}, early)) is None
    assert victim_now({1: rank(steps=0)}, early, aim({}, early)) == 1


def test_an_absent_victim_is_waited_for() -> None:
    assert victim_now({0: rank(steps=99)}, fault(victim=1), 25) is None


def test_without_an_aim_nothing_happens() -> None:
    assert victim_now({1: rank(steps=99)}, fault(), None) is None


def during(rank_hit: int | None = None) -> PlannedFault:
    return PlannedFault(
        kind="kill", rank=1, after_checkpoints=1, delay_steps=5, signal="KILL", during_checkpoint=True, training=FaultSpec(rank=rank_hit)
    )


def test_during_a_checkpoint_whoever_saves_it_is_struck() -> None:
    first = {0: rank(steps=9, saving=True), 1: rank(steps=9)}
    assert victim_now(first, during(), None) is None  # the one after the first was asked for
    second = {0: rank(steps=19, checkpoints=1, saving=True), 1: rank(steps=19, checkpoints=1)}
    assert victim_now(second, during(), None) == 0
    assert victim_now(second, during(rank_hit=1), None) is None
    assert victim_now({0: rank(steps=25, checkpoints=2)}, during(), None) is None


def test_a_chosen_step_and_rank_are_not_drawn() -> None:
    made = Experiment(
        name="x", workload=Workload(script="x.py"), factor=Factor(levels=(4,)), faults=(FaultSpec(at_step=17, rank=2, kind="stop"),)
    )
    found = [one.fault for one in plan(made) if one.fault is not None]
    assert [(one.rank, one.after_checkpoints, one.delay_steps) for one in found] == [(2, 0, 17)]
    assert aim({2: rank(steps=0)}, found[0]) == 17
