"""In which steps is a reducer given the timed group, and is nothing noted in the others?"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from assay.instruments._watched_steps import ALIKE, EVERY, FIRST, UNWATCHED, chosen
from tests.instruments.test_steady_communication import Rig

pytestmark = pytest.mark.torch

STEPS = 300


@pytest.fixture
def rig() -> Iterator[Rig]:
    import torch.distributed as dist

    store: Any = dist.HashStore()  # type: ignore[attr-defined]
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    rig = Rig()
    try:
        yield rig
    finally:
        while rig.undo:
            rig.undo.pop()()
        rig.recorder.close()
        dist.destroy_process_group()


def unwatched(rig: Rig) -> list[int]:
    return sorted(row["step"] for row in rig.rows("communication") if row["method"] == UNWATCHED)


def test_one_of_eight_is_chosen_at_no_fixed_distance() -> None:
    steps = [step for step in range(8000) if chosen(step)]
    assert len(steps) == 8000 / EVERY
    assert {after - before for before, after in pairwise(steps)} >= set(range(2, 14))
    for period in (5, 8, 10, 16, 100):
        phases = [sum(step % period == phase for step in steps) for phase in range(period)]
        assert min(phases) > 0, f"a script's period of {period} is seen in all of its phases"


def test_a_steady_step_is_watched_or_says_that_it_was_not(rig: Rig) -> None:
    rig.train(steps=STEPS)
    missed = unwatched(rig)
    assert len(missed) > 0.75 * (STEPS - FIRST)
    assert not [step for step in missed if step < FIRST or chosen(step)]
    seen = {row["step"] for row in rig.rows("collectives") if row["step"] is not None}
    assert sorted([*missed, *(seen - {0})]) == list(range(1, STEPS)), "the reducer's own of step 0 come beside"
    steps = {row["step"]: row for row in rig.rows("steps")}
    assert sorted(steps) == list(range(STEPS))
    for step in range(2, STEPS):
        assert (steps[step]["exposed_comm_ns"] is None) is (step in missed)
        assert steps[step]["backward_ns"] > 0
    assert not {row["step"] for row in rig.rows("waits")} & set(missed)
    told = {row["step"] for row in rig.rows("communication") if row["method"] in ("engine", "group")}
    assert not told & set(missed)


def test_the_engines_own_group_reduces_where_nobody_watches(rig: Rig) -> None:
    """No Python is asked then: the group's own method is not called."""
    asked: list[int] = []

    def spied(model: Any) -> None:
        from assay.instruments import _hooks

        timed = _hooks._TIMED[model]
        direct = timed._direct
        timed._direct = lambda *arguments: (asked.append(rig.recorder._step), direct(*arguments))[-1]

    rig.train(spied, steps=STEPS)
    assert asked
    assert not set(asked) & set(unwatched(rig))


def test_calls_have_equal_numbers_on_ranks_that_watched_other_steps(rig: Rig) -> None:
    rig.train(steps=STEPS)
    of_step: dict[int, list[int]] = {}
    for row in rig.rows("collectives"):
        if row["step"] is not None and row["step"] >= FIRST:
            of_step.setdefault(row["step"], []).append(row["call"])
    assert {step: numbers for step, numbers in of_step.items() if numbers != [step << 20]} == {}


def test_averaging_now_and_then_keeps_every_step_watched(rig: Rig) -> None:
    """Local SGD by `no_sync`: other bytes in every fourth step."""

    def seldom(step: int, model: Any) -> None:
        model.require_backward_grad_sync = step % 4 == 0

    rig.train(at=seldom, steps=STEPS)
    assert unwatched(rig) == []


def test_other_bytes_than_before_bring_every_step_back(rig: Rig) -> None:
    """From step 150 to 160 nothing is synchronised: from the first watched one of them on so many steps are watched again."""

    def pauses(step: int, model: Any) -> None:
        model.require_backward_grad_sync = not 150 <= step < 160

    rig.train(at=pauses, steps=STEPS)
    missed = unwatched(rig)
    first = next(step for step in range(150, 160) if step not in missed)
    assert [step for step in missed if first <= step < 160 + ALIKE] == []
    assert [step for step in missed if step > 160 + 2 * ALIKE]


def test_a_group_of_the_scripts_own_is_left_to_it(rig: Rig) -> None:
    import torch.distributed as dist

    def regroups(step: int, model: Any) -> None:
        if step == 100:
            model._update_process_group(dist.new_group([0]))
            groups.append(model.process_group)

    groups: list[Any] = []
    rig.train(at=regroups, steps=STEPS)
    assert max(unwatched(rig)) < 101
    assert groups


def test_weights_are_bit_for_bit_those_of_a_training_without_hooks(rig: Rig) -> None:
    import torch

    found: list[Any] = []

    def trained(watch: bool) -> Any:
        torch.manual_seed(1)
        kept: list[Any] = []
        if watch:
            rig.train(kept.append, steps=STEPS)
        else:
            while rig.undo:
                rig.undo.pop()()
            model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4))
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for x in torch.utils.data.DataLoader(torch.randn(2 * STEPS, 4), batch_size=2):  # type: ignore[arg-type]
                optimizer.zero_grad()
                model(x).sum().backward()
                optimizer.step()
            kept.append(model)
        return [one.detach().clone() for one in kept[0].parameters()]

    found = [trained(watch) for watch in (True, False)]
    assert unwatched(rig)
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))
