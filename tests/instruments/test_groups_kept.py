"""Is a DistributedDataParallel whose collectives are timed still what the rest of torch takes it for?"""

from __future__ import annotations

import copy
import gc
import io
from collections.abc import Iterator
from typing import Any

import pytest

from fireassay.instruments.recorder.recorder import Recorder
from fireassay.instruments.recorder.sink import Identity, MemorySink
from fireassay.record.tables import TABLES

pytestmark = pytest.mark.torch


@pytest.fixture
def undo() -> list[Any]:
    """What takes the hooks out, the last first."""
    return []


@pytest.fixture
def sink(undo: list[Any]) -> Iterator[MemorySink]:
    """What is recorded of this test, a process group of one with the hooks in."""
    import torch
    import torch.distributed as dist

    from fireassay.instruments.hooks import torch_hooks
    from fireassay.instruments.hooks.steps import Attached

    store: Any = dist.HashStore()  # type: ignore[attr-defined]
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    rows = MemorySink()
    recorder = Recorder(Identity(launch=0, rank=0, workers=2, incarnation=0, seed=0, host="here"), rows)
    attached = Attached(torch, recorder)
    torch_hooks.install(torch, attached, undo)
    try:
        yield rows
        assert recorder.active, "a hook failed"
    finally:
        while undo:
            undo.pop()()
        recorder.close()
        dist.destroy_process_group()


def model() -> Any:
    import torch

    inner = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4))
    return torch.nn.parallel.DistributedDataParallel(inner)


def train(wrapped: Any, steps: int) -> None:
    import torch

    optimizer = torch.optim.SGD(wrapped.parameters(), lr=0.1)
    for _ in range(steps):
        wrapped(torch.randn(3, 4)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()


def test_it_is_copied_and_pickled_as_it_would_be_without(sink: MemorySink) -> None:
    """An average of a model is made by copying it; torch refuses to copy one of a group that it did not make."""
    import torch

    wrapped = model()
    train(wrapped, 1)
    average = copy.deepcopy(wrapped)
    assert average.module[0].weight.equal(wrapped.module[0].weight)
    train(average, 1)
    torch.save(wrapped, file := io.BytesIO())
    file.seek(0)
    assert torch.load(file, weights_only=False).module[0].bias.equal(wrapped.module[0].bias)


def test_ranks_with_uneven_batches_join(sink: MemorySink) -> None:
    """`Join` asks the model's group for the rank, which torch knows of its own groups alone."""
    from torch.distributed.algorithms.join import Join

    wrapped = model()
    with Join([wrapped]):
        train(wrapped, 2)


def test_its_gradients_and_its_buffers_are_still_timed(sink: MemorySink) -> None:
    """Four steps: gradients of 4 x 4 + 4 + 4 + 4 numbers; the statistics of the layer in one piece, and their count."""
    import torch.distributed as dist

    wrapped = model()
    assert wrapped.process_group is dist.group.WORLD
    train(wrapped, 4)
    names = TABLES["collectives"].column_names
    rows = [dict(zip(names, row, strict=True)) for row in sink.of("collectives")]
    for step in (0, 2):  # in the second, DDP also tells the other ranks its buckets
        own = [row for row in rows if row["step"] == step]
        sizes = {op: sum(row["bytes"] for row in own if row["op"] == op) for op in ("all_reduce", "broadcast")}
        assert sizes == {"all_reduce": 28 * 4, "broadcast": 8 * 4 + 8}


def test_a_model_that_is_given_another_group_sends_its_buffers_by_that_one(sink: MemorySink, monkeypatch: pytest.MonkeyPatch) -> None:
    """The way in which torch lets a model go on with fewer ranks, or more: those that are gone would be waited for in the old group."""
    import torch.distributed as dist

    wrapped, used = model(), []
    send: Any = dist._broadcast_coalesced  # type: ignore[attr-defined]

    def sending(group: Any, *arguments: Any) -> None:
        used.append(group)
        send(group, *arguments)

    train(wrapped, 1)
    other = dist.new_group([0])
    wrapped._update_process_group(other)
    with monkeypatch.context() as patched:
        patched.setattr(dist, "_broadcast_coalesced", sending)
        train(wrapped, 2)
    assert used
    assert all(group is other for group in used)
    assert wrapped.process_group is other


@pytest.mark.parametrize("given", [False, True])
def test_a_group_that_is_set_while_buffers_are_sent_stays(sink: MemorySink, monkeypatch: pytest.MonkeyPatch, given: bool) -> None:
    """Whether the group was swapped for the timed one, or is the script's own and was left where it is."""
    import torch.distributed as dist

    wrapped, other = model(), dist.new_group([0])
    if given:
        wrapped._update_process_group(dist.new_group([0]))
    with monkeypatch.context() as patched:
        patched.setattr(dist, "_broadcast_coalesced", lambda *_: setattr(wrapped, "process_group", other))
        train(wrapped, 1)
    assert wrapped.process_group is other


def test_it_trains_on_where_the_hooks_are_taken_out(sink: MemorySink, undo: list[Any]) -> None:
    """A script that marks its steps after it has wrapped its model takes them out, as does a recording that failed.  The reducer asks the
    timed group all the same: nobody held it any more, and the next backward pass ended the training."""
    wrapped = model()
    while undo:
        undo.pop()()
    gc.collect()
    train(wrapped, 2)
