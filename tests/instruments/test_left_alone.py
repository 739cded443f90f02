"""What a script may do with torch it may do with the hooks in: nothing raises, nothing is kept that it drops, nothing piles up."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fireassay.instruments.recorder.recorder import Recorder
from fireassay.instruments.recorder.sink import Identity, MemorySink
from fireassay.record.tables import TABLES
from tests.limits import PROCESS_S

pytestmark = pytest.mark.torch

HOOKED = """
import os, sys
from datetime import timedelta
import torch, torch.distributed as dist
from fireassay.instruments.hooks import torch_hooks
from fireassay.instruments.hooks.steps import Attached
from fireassay.instruments.recorder.recorder import Recorder
from fireassay.instruments.recorder.sink import Identity, MemorySink
if sys.argv[2] == "early":
    import torch.distributed._functional_collectives
recorder = Recorder(Identity(launch=0, rank=0, workers=1, incarnation=0, seed=0, host="here"), MemorySink())
undo = []
torch_hooks.install(torch, Attached(torch, recorder), undo)
dist.init_process_group("gloo", init_method="file://" + sys.argv[1], rank=0, world_size=1)
"""
SCRIPT = """
x = torch.ones(3)
work = dist.all_reduce(x, async_op=True)
assert work.wait(timeout=timedelta(seconds=10))

def doubled(x):
    y = x * 2
    dist.all_reduce(y)
    return y + 1

assert torch.compile(doubled, backend="eager", fullgraph=True)(x).tolist() == [3, 3, 3]
while undo:
    undo.pop()()
torch._dynamo.reset()
assert torch.compile(doubled, backend="eager", fullgraph=True)(x).tolist() == [3, 3, 3]
assert recorder.active, "a hook failed"
sys.stdout.flush()
os._exit(0)
"""


@pytest.mark.deep
@pytest.mark.parametrize("imported", ["early", "late"])
def test_collectives_take_their_arguments_and_are_compiled_as_before(tmp_path: Path, imported: str) -> None:
    """`imported`: what torch.compile knows of collectives, before the hooks were in or afterwards."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", HOOKED + SCRIPT, str(tmp_path / "meet"), imported],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=PROCESS_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]


class Hooked:
    """This process with the hooks in."""

    def __init__(self) -> None:
        import torch

        from fireassay.instruments.hooks import torch_hooks
        from fireassay.instruments.hooks.steps import Attached

        self.torch, self.sink, self.undo = torch, MemorySink(), list[Any]()
        self.recorder = Recorder(Identity(launch=0, rank=0, workers=1, incarnation=0, seed=0, host="here"), self.sink)
        self.attached, self.closed = Attached(torch, self.recorder), False
        torch_hooks.install(torch, self.attached, self.undo)
        torch.manual_seed(0)

    def of(self, table: str) -> list[dict[str, Any]]:
        return [dict(zip(TABLES[table].column_names, row, strict=True)) for row in self.sink.of(table)]

    def said(self, what: str) -> list[tuple[int, Any]]:
        rows = [row for row in self.of("fingerprints") if row["what"] == what]
        return [(row["step"], row["text"] or row["value"]) for row in rows]

    def loader(self, size: int = 32, **words: Any) -> Any:
        data = self.torch.utils.data
        return data.DataLoader(data.TensorDataset(self.torch.randn(size, 4)), batch_size=4, **words)

    def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        self.attached.close()
        while self.undo:
            self.undo.pop()()
        assert self.recorder.active, "a hook failed"
        self.recorder.close()


@pytest.fixture
def hooked() -> Iterator[Hooked]:
    made = Hooked()
    try:
        yield made
        made.close()
    finally:
        while made.undo:
            made.undo.pop()()


def step(optimizer: Any, loss: Any) -> None:
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def test_an_optimizer_may_be_compared_as_its_script_likes(hooked: Hooked) -> None:
    """One that defines `__eq__` has no hash."""

    class Own(hooked.torch.optim.SGD):  # type: ignore[misc, name-defined]
        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own) and self.defaults == other.defaults

        __hash__ = None  # type: ignore[assignment]

    model = hooked.torch.nn.Linear(4, 1)
    own = [Own(model.parameters(), lr=0.1) for _ in range(2)]
    assert own[0] == own[1]
    assert len(list(hooked.attached.optimizers)) == 2
    del own
    gc.collect()
    assert list(hooked.attached.optimizers) == []


def test_gradients_may_be_asked_for_by_an_edge_of_the_graph_among_several_ranks(hooked: Hooked) -> None:
    """torch's pipelines do; the last gradient is seen all the same."""
    from torch.autograd.graph import get_gradient_edge

    hooked.attached.communication.others, hooked.attached.communication.check_ranks = True, lambda: None  # type: ignore[method-assign]
    torch, model = hooked.torch, hooked.torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    seen = []
    for x in hooked.loader():
        optimizer.zero_grad()
        torch.autograd.backward([get_gradient_edge(model(x[0]))], [torch.ones(4, 1)])
        seen.append(hooked.attached.communication.tail_ns)
        optimizer.step()
    assert None not in seen
    hooked.close()
    assert [row["items"] for row in hooked.of("steps")] == [4.0] * 8


class Probing:
    """Makes a model that asks a part of itself for a shape while it is made."""

    def __new__(cls, torch: Any) -> Any:
        class Net(torch.nn.Module):  # type: ignore[misc, name-defined]
            def __init__(self) -> None:
                super().__init__()
                self.features = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU())
                self.head = torch.nn.Linear(self.features(torch.zeros(1, 4)).numel(), 100)

            def forward(self, x: Any) -> Any:
                return self.head(self.features(x))

        return Net()


@pytest.mark.parametrize("another", [False, True])
def test_a_part_that_is_asked_for_its_shape_is_not_taken_for_the_model(hooked: Hooked, another: bool) -> None:
    """`another`: an optimizer of another model is there by then."""
    torch = hooked.torch
    other = torch.nn.Linear(1, 1)
    kept = torch.optim.SGD(other.parameters(), lr=0.1) if another else None
    model = Probing(torch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x in hooked.loader():
        step(optimizer, model(x[0]).square().mean())
    hooked.close()
    assert hooked.said("parameters") == [(0, 415.0)]
    assert hooked.said("parameter_hash")[0][0] == 0
    assert {row["parameter"] for row in hooked.of("gradients")} == {name for name, _ in model.named_parameters()}
    assert (kept is not None) == another


def test_an_optimizer_that_is_made_behind_the_first_pass_trains_the_model_that_was_passed(hooked: Hooked) -> None:
    model, optimizer = hooked.torch.nn.Linear(4, 1), None
    for x in hooked.loader():
        loss = model(x[0]).square().mean()
        loss.backward()
        optimizer = optimizer or hooked.torch.optim.SGD(model.parameters(), lr=0.1)
        optimizer.step()
        optimizer.zero_grad()
    hooked.close()
    assert [at for at, _ in hooked.said("parameter_hash")] == [0, 1, 2, 4, 8]


def test_a_model_that_is_passed_once_for_nothing_is_not_taken_for_the_one_that_is_trained(hooked: Hooked) -> None:
    """Somebody forgot to switch gradients off; nor does the first step begin by that."""
    torch = hooked.torch
    torch.nn.Linear(4, 7)(torch.ones(2, 4))
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    made = hooked.attached.now()
    for x in hooked.loader():
        step(optimizer, model(x[0]).square().mean())
    hooked.close()
    assert hooked.said("parameters") == [(0, 5.0)]
    assert hooked.of("steps")[0]["begin_ns"] >= made
    assert len(hooked.of("steps")) == 8


def test_a_frozen_part_that_is_called_first_is_not_taken_for_the_model(hooked: Hooked) -> None:
    torch = hooked.torch
    frozen, head = torch.nn.Linear(4, 9).requires_grad_(False), torch.nn.Linear(9, 1)
    optimizer = torch.optim.SGD([*frozen.parameters(), *head.parameters()], lr=0.1)
    for x in hooked.loader():
        step(optimizer, head(frozen(x[0])).square().mean())
    hooked.close()
    assert hooked.said("parameters") == [(0, 10.0)]


def test_a_model_that_its_script_drops_is_gone_once_another_one_is_trained(hooked: Hooked) -> None:
    """A cross-validation."""
    there = []
    for _ in range(3):
        model = hooked.torch.nn.Linear(4, 1)
        optimizer = hooked.torch.optim.SGD(model.parameters(), lr=0.1)
        for x in hooked.loader():
            step(optimizer, model(x[0]).square().mean())
        there.append(weakref.ref(model))
        del model, optimizer
        gc.collect()
    assert [one() is None for one in there[1:]] == [True, True]
    assert there[0]() is None
    hooked.close()
    assert [at for at, _ in hooked.said("parameter_hash")] == [0, 1, 2, 4, 8], "of its own eight steps alone"


def test_a_model_that_lives_on_is_hashed_to_the_end_whatever_else_is_trained(hooked: Hooked) -> None:
    model = hooked.torch.nn.Linear(4, 1)
    optimizer = hooked.torch.optim.SGD(model.parameters(), lr=0.1)
    for number, x in enumerate(hooked.loader()):
        if number == 3:
            head = hooked.torch.nn.Linear(4, 1)
            kept = hooked.torch.optim.SGD(head.parameters(), lr=0.1)
        step(optimizer, model(x[0]).square().mean())
    hooked.close()
    assert kept is not None
    assert [at for at, _ in hooked.said("parameter_hash")] == [0, 1, 2, 4, 8]


def test_data_that_are_made_anew_for_every_rollout_are_forgotten(hooked: Hooked) -> None:
    model = hooked.torch.nn.Linear(4, 1)
    optimizer = hooked.torch.optim.SGD(model.parameters(), lr=1e-3)
    for _ in range(120):
        for x in hooked.loader(8, shuffle=True):
            step(optimizer, model(x[0]).square().mean())
    hooked.attached.read()
    known = hooked.attached.sources.below
    assert len(known._views) + len(known._below) <= 40
    assert len(hooked.attached.reader.overlap.below) <= 40


def test_iterators_that_are_made_anew_for_every_step_are_forgotten(hooked: Hooked) -> None:
    model, loader = hooked.torch.nn.Linear(4, 1), hooked.loader()
    optimizer = hooked.torch.optim.SGD(model.parameters(), lr=1e-3)
    for _ in range(400):
        step(optimizer, model(next(iter(loader))[0]).square().mean())
    hooked.attached.read()
    assert len(hooked.attached.reader.order.feeds) <= 129


def test_batches_that_a_thread_of_the_script_fetches_are_not_waited_for(hooked: Hooked) -> None:
    """Nobody sees which batch such a thread gets: what it asked for must not pile up, nor be taken for what comes later."""
    iterators, model = [], hooked.torch.nn.Linear(4, 1)
    optimizer = hooked.torch.optim.SGD(model.parameters(), lr=1e-3)
    got: list[Any] = []

    def fetch() -> None:
        iterators.append(iter(hooked.loader(64)))
        got.extend(next(iterators[0]) for _ in range(12))

    thread = threading.Thread(target=fetch)
    thread.start()
    thread.join()
    for x in (*got, *iterators[0]):
        step(optimizer, model(x[0]).square().mean())
    assert iterators[0]._assay_ids() is None
    hooked.close()
    assert hooked.of("samples") == [] or all(not row["ids"] for row in hooked.of("samples"))


def test_updates_by_hand_pile_nothing_up(hooked: Hooked) -> None:
    """No step takes the losses and the collectives: they are told, or added up, on the way."""
    from fireassay.instruments.hooks.steps import MAX_EVENTS

    torch, model, calls = hooked.torch, hooked.torch.nn.Linear(4, 1), hooked.attached.calls
    for _ in range(3 * MAX_EVENTS):
        calls.over(calls.begun("world", 2, "all_reduce", [torch.ones(1)]))
        model(torch.ones(2, 4)).mean().backward()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter -= 1e-3 * parameter.grad
                parameter.grad = None
    assert len(hooked.attached.events) <= 8 * MAX_EVENTS
    assert calls.open <= 2 * MAX_EVENTS
    hooked.close()
    assert len(hooked.of("collectives")) == 3 * MAX_EVENTS
    assert hooked.of("steps") == []


def gone(thread: threading.Thread) -> None:
    """Wait until the kernel has forgotten a thread that has ended."""
    until = time.monotonic() + PROCESS_S
    while Path(f"/proc/self/task/{thread.native_id}").exists() and time.monotonic() < until:
        time.sleep(0.001)


def test_steps_of_several_threads_are_not_told_rather_than_told_wrongly(capsys: pytest.CaptureFixture[str]) -> None:
    made = Hooked()
    try:
        models = [made.torch.nn.Linear(4, 1) for _ in range(2)]
        optimizers = [made.torch.optim.SGD(model.parameters(), lr=1e-3) for model in models]

        def train(number: int) -> None:
            for _ in range(5):
                step(optimizers[number], models[number](made.torch.ones(2, 4)).mean())

        for number in range(2):
            thread = threading.Thread(target=train, args=(number,))
            thread.start()
            thread.join()
            gone(thread)  # the next one is given its number
        assert not made.recorder.active
        assert "optimizers step in several threads" in capsys.readouterr().err
    finally:
        while made.undo:
            made.undo.pop()()


def test_a_forked_child_that_trains_is_not_taken_for_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    from fireassay.instruments import attach
    from fireassay.instruments.recorder import singleton

    made = Hooked()
    try:
        model = made.torch.nn.Linear(4, 1)
        optimizer = made.torch.optim.SGD(model.parameters(), lr=1e-3)
        for number, x in enumerate(made.loader(200)):
            if number == 40:
                break
            step(optimizer, model(x[0]).square().mean())
        assert made.attached.events
        monkeypatch.setattr(attach, "_current", made.attached)
        monkeypatch.setattr(singleton, "_current", made.recorder)
        singleton._silence()  # what a fork calls in the child
        assert not made.attached.active
        assert not made.recorder.active
        rows = len(made.of("steps"))
        for x in made.loader(200):
            step(optimizer, model(x[0]).square().mean())
        assert len(made.of("steps")) == rows
    finally:
        while made.undo:
            made.undo.pop()()
