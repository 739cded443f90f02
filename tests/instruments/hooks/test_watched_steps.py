"""In which steps is a reducer given the timed group, and is nothing noted in the others?"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from fireassay.instruments.hooks.watched_steps import ALIKE, FIRST, OFTEN, chosen
from fireassay.instruments.recorder.step_rows import UNWATCHED
from tests.instruments import test_steady_communication as steady
from tests.instruments.test_steady_communication import Rig
from tests.limits import PROCESS_S

pytestmark = pytest.mark.torch

STEPS = 300
rig = steady.rig  # the fixture


def unwatched(rig: Rig) -> list[int]:
    return sorted(row["step"] for row in rig.rows("communication") if row["method"] == UNWATCHED)


def test_one_of_four_then_of_eight_is_chosen_at_no_fixed_distance() -> None:
    assert all(chosen(step) for step in range(FIRST))
    assert sum(chosen(step) for step in range(FIRST, OFTEN)) == (OFTEN - FIRST) / 4
    steps = [step for step in range(OFTEN, OFTEN + 8000) if chosen(step)]
    assert len(steps) == 1000
    assert {after - before for before, after in pairwise(steps)} >= set(range(2, 14))
    for period in (5, 8, 10, 16, 100):
        phases = [sum(step % period == phase for step in steps) for phase in range(period)]
        assert min(phases) > 0, f"a script's period of {period} is seen in all of its phases"


def test_a_steady_step_is_watched_or_says_that_it_was_not(rig: Rig) -> None:
    rig.train(steps=STEPS)
    missed = unwatched(rig)
    assert len(missed) > 0.7 * (STEPS - FIRST)
    assert not [step for step in missed if chosen(step)]
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


@pytest.mark.parametrize("steps", [44, 60, 70, STEPS])
def test_the_hooks_cost_is_that_of_no_more_steps_than_there_were(rig: Rig, steps: int) -> None:
    """One step of 16 is timed; once some are not watched, each watched one is too."""
    rig.train(steps=steps)
    told = next(row["value"] for row in rig.rows("telemetry") if row["counter"] == "own_steps")
    assert steps / 4 <= told <= steps


def test_steps_of_every_kind_count_in_the_hooks_cost(rig: Rig) -> None:
    """Of a sampled job too: each kind by its share."""
    rig.train(steps=STEPS)
    attached = rig.attached
    for times, ns in zip(attached.costs.times, (100, 300), strict=True):
        count = len(times)
        times.clear()
        times.extend([ns] * count)
    missed, seen = attached.costs.steps
    assert missed == len(unwatched(rig)) > 0
    cost, steps = attached.costs.per_step(0)
    assert steps == missed + seen == STEPS
    assert cost == pytest.approx((100 * missed + 300 * seen) / steps)


def test_the_engines_own_group_reduces_where_nobody_watches(rig: Rig) -> None:
    """No Python is asked then: the group's own method is not called."""
    asked: list[int] = []

    def spied(model: Any) -> None:
        from fireassay.instruments.hooks import torch_hooks

        timed = torch_hooks._TIMED[model]
        direct = timed._direct
        timed._direct = lambda *arguments: (asked.append(rig.recorder.step_number), direct(*arguments))[-1]

    rig.train(spied, steps=STEPS)
    assert asked
    assert not set(asked) & set(unwatched(rig))


def test_calls_that_nobody_noted_have_their_numbers(rig: Rig) -> None:
    """One call a step, and before the first step those by which the model was made equal."""
    rig.train(steps=STEPS)
    own = {row["step"]: row["call"] for row in rig.rows("collectives") if row["step"] is not None}
    assert {call - step for step, call in own.items() if step > 1} == {own[2] - 2}


def test_the_short_end_of_an_unwatched_step_is_the_usual_one_and_no_other_where_the_script_communicates(rig: Rig) -> None:
    """What the script requests in every third step takes the long way; numbers and steps are as everywhere."""
    import torch
    import torch.distributed as dist

    def sometimes(step: int, _: Any) -> None:
        if step >= 150 and step % 3 == 0:
            dist.all_reduce(torch.ones(1))

    ends: list[tuple[int, bool]] = []
    goes_on = rig.communication.watched_steps.goes_on
    rig.communication.watched_steps.goes_on = lambda step: (ends.append((step, goes_on(step))), ends[-1][1])[-1]
    rig.train(at=sometimes, steps=STEPS)
    quick = {step for step, usual in ends if usual}
    assert len({step for step in quick if step < 150}) > 30
    assert quick <= set(unwatched(rig))
    assert not [step for step in quick if step >= 150 and step % 3 == 0]
    assert [step for step in quick if step >= 150]
    calls = {row["step"]: row["call"] for row in rig.rows("collectives") if row["step"] is not None and row["bytes"] == 80}
    own = [row["step"] for row in rig.rows("collectives") if row["bytes"] == 4 and row["step"] > 2]  # before: DDP's own
    asked = [step for step in range(150, STEPS) if step % 3 == 0]
    assert sorted(own) == asked
    begin = calls[2] - 2
    for step, call in calls.items():
        if step > 1:
            assert call == begin + step + sum(one <= step for one in asked)


def test_what_the_script_itself_requests_is_noted_in_every_step(rig: Rig) -> None:
    import torch
    import torch.distributed as dist

    rig.train(at=lambda *_: dist.all_reduce(torch.ones(1)), steps=STEPS)
    missed = unwatched(rig)
    assert missed
    own = [row for row in rig.rows("collectives") if (row["bytes"], row["op"]) == (4, "all_reduce")]
    assert len(own) == STEPS
    assert {row["step"] for row in own} > set(missed)
    numbers = {row["step"]: row["call"] for row in own}
    reduced = {row["step"]: row["call"] for row in rig.rows("collectives") if row["bytes"] == 80}
    assert {numbers[step + 1] - numbers[step] for step in range(2, STEPS - 1)} == {2}, "one of them, one of the reducer's"
    assert {reduced[step] - numbers[step] for step in reduced if step is not None and step > 2} == {1}


def test_steps_that_no_loader_begins_are_sampled_too(rig: Rig) -> None:
    """And not left unwatched for ever, since the step in which the loader ended was not watched."""
    import torch

    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x: Any) -> None:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()

    loader: Any = torch.utils.data.DataLoader(torch.randn(200, 4), batch_size=2)  # type: ignore[arg-type]
    for x in loader:
        step(x)
    for _ in range(200):
        step(torch.randn(2, 4))
    rig.attached.close()
    missed = set(unwatched(rig))
    steps = {row["step"] for row in rig.rows("steps")}
    assert {step for step in steps if step > 110 and chosen(step)} & missed == set()
    assert {step for step in steps if step > 110} & missed


def test_a_script_that_marks_its_steps_later_is_watched_in_all_of_them(rig: Rig) -> None:
    import torch

    from fireassay.instruments.hooks.marked_steps import Marked

    rig.train(steps=101)
    rig.communication.watched_steps._give(timed=False)
    marked = Marked(torch, rig.recorder, rig.attached)
    assert not marked.calls.unwatched


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


RANK = """
import json, os, sys
import torch
import torch.distributed as dist
from fireassay.instruments.hooks import torch_hooks
from fireassay.instruments.hooks.steps import Attached
from fireassay.instruments.recorder.recorder import Recorder
from fireassay.instruments.recorder.sink import Identity, MemorySink
from fireassay.record.tables import TABLES

rank = int(os.environ["RANK"])
dist.init_process_group("gloo")
sink, undo = MemorySink(), []
recorder = Recorder(Identity(launch=0, rank=rank, workers=2, incarnation=0, seed=0, host="here"), sink)
attached = Attached(torch, recorder)
torch_hooks.install(torch, attached, undo)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
held_out = torch.utils.data.DataLoader(torch.randn(8, 8), batch_size=4)
for step, x in enumerate(torch.utils.data.DataLoader(torch.randn(600, 8), batch_size=2)):
    optimizer.zero_grad()
    model(x).sum().backward()
    optimizer.step()
    if step % 20 == 7:
        if rank == 0:
            model.eval()
            with torch.no_grad():
                for y in held_out:
                    model.module(y)
            model.train()
        dist.barrier()
attached.close()
assert recorder.active
rows = [dict(zip(TABLES["collectives"].column_names, row)) for row in sink.of("collectives")]
told = [row[3] for row in sink.of("communication") if row[4] == "unwatched"]
with open(f"{sys.argv[1]}/{rank}.json", "w") as file:
    json.dump({"calls": [(row["call"], row["op"], row["bytes"]) for row in rows], "unwatched": told}, file)
dist.barrier()
os._exit(0)
"""


@pytest.mark.deep
def test_one_number_is_one_call_on_ranks_that_do_not_do_the_same_between_steps(tmp_path: Path) -> None:
    """Rank 0 alone evaluates, and so begins its next step before the barrier, where the other does after it."""
    script = tmp_path / "rank.py"
    script.write_text(RANK)
    words = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--nproc-per-node",
        "2",
        "--rdzv-backend",
        "c10d",
        "--rdzv-endpoint",
        "127.0.0.1:0",
        "--local-addr",
        "127.0.0.1",
        str(script),
        str(tmp_path),
    ]
    subprocess.run(words, check=True, timeout=PROCESS_S, env={**os.environ, "OMP_NUM_THREADS": "1"})
    ranks = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(2)]
    first, second = ({call: rest for call, *rest in rank["calls"]} for rank in ranks)
    both = first.keys() & second.keys()
    assert len(both) > 100
    assert {call: (first[call], second[call]) for call in both if first[call] != second[call]} == {}
    missed = [set(rank["unwatched"]) for rank in ranks]
    assert len(missed[0] & missed[1]) > 100
    assert len(missed[0] ^ missed[1]) <= 2, "a step that was begun inside of a pass"


def test_calls_that_only_the_engine_knows_keep_every_step_watched(rig: Rig) -> None:
    """A functional collective now and then: of what the engine counts nobody knows which are the reducer's."""
    import torch
    import torch.distributed as dist
    import torch.distributed._functional_collectives as functional

    def unknown(step: int, _: Any) -> None:
        if step % 10 == 5:
            functional.all_reduce(torch.ones(1), "sum", dist.group.WORLD).sum()

    rig.train(at=unknown, steps=STEPS)
    assert unwatched(rig) == []


def test_a_model_made_in_an_unwatched_step_makes_no_watched_one_of_it(rig: Rig) -> None:
    import torch

    more: list[Any] = []

    def makes(step: int, _: Any) -> None:
        if not more and step > 100 and rig.attached.calls.unwatched:
            more.append((step, torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4))))

    rig.train(at=makes, steps=STEPS)
    (step, _), missed = more[0], unwatched(rig)
    assert step in missed
    assert [one for one in missed if step < one <= step + ALIKE] == []
    steps = {row["step"]: row for row in rig.rows("steps")}
    assert steps[step]["exposed_comm_ns"] is None


def test_a_hook_of_the_scripts_own_keeps_every_step_watched(rig: Rig) -> None:
    from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook

    rig.train(lambda model: model.register_comm_hook(None, allreduce_hook), steps=STEPS)
    assert unwatched(rig) == []
