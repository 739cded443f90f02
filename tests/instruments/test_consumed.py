"""The samples of a step are those that it was trained on, not those that an iterator yielded.

Every sample's first number is its id, so that each script notes for itself what its steps consumed.
"""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from assay.instruments._recorder import Recorder
from assay.instruments._sink import Identity, MemorySink
from assay.record.tables import TABLES

pytestmark = pytest.mark.torch
SIZE, BATCH = 24, 4


class Script:
    """A training of one process with the hooks in, and what it consumed."""

    def __init__(self, copies: bool) -> None:
        import torch

        from assay.instruments import _hooks
        from assay.instruments._attached import Attached

        self.torch, self.copies, self.sink, self.undo = torch, copies, MemorySink(), list[Any]()
        self.recorder = Recorder(Identity(launch=0, rank=0, workers=1, incarnation=0, seed=0, host="here"), self.sink)
        self.attached = Attached(torch, self.recorder)
        _hooks.install(torch, self.attached, self.undo)
        torch.manual_seed(0)
        self.model = torch.nn.Linear(2, 1)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-6)
        self.truth: list[list[int]] = []  # of each step
        self.under_way: list[int] = []

    def data(self, size: int = SIZE, first: int = 0) -> Any:
        ids = self.torch.arange(first, first + size).float()
        return self.torch.utils.data.TensorDataset(self.torch.stack([ids, ids * 0], 1))

    def loader(self, data: Any = None, **words: Any) -> Any:
        return self.torch.utils.data.DataLoader(data or self.data(), **{"batch_size": BATCH, "shuffle": True, **words})

    def to(self, x: Any) -> Any:
        """To a device: the same tensor on this one, a copy as on another."""
        return x.clone() if self.copies else x

    def derive(self, x: Any) -> None:
        self.model.train()
        self.model(self.to(x)).mean().backward()
        self.under_way += x[:, 0].int().tolist()

    def update(self) -> None:
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.truth.append(sorted(self.under_way))
        self.under_way = []

    def train(self, x: Any) -> None:
        self.derive(x)
        self.update()

    def evaluate(self, loader: Any, parts: int = 1) -> None:
        self.model.eval()
        with self.torch.no_grad():
            for (x,) in loader:
                for part in x.chunk(parts):
                    self.model(self.to(part))
        self.model.train()

    def close(self) -> None:
        self.attached.close()
        while self.undo:
            self.undo.pop()()
        assert self.recorder.active, "a hook failed"
        self.recorder.close()

    def of(self, table: str) -> list[dict[str, Any]]:
        return [dict(zip(TABLES[table].column_names, row, strict=True)) for row in self.sink.of(table)]

    def told(self) -> list[list[int]]:
        ids = Counter[int]()
        found: list[list[int]] = [[] for _ in self.of("steps")]
        for row in self.of("samples"):
            found[row["step"]] += row["ids"]
        assert ids is not None
        return [sorted(one) for one in found]

    def items(self) -> list[float | None]:
        return [row["items"] for row in self.of("steps")]

    def unknown(self) -> list[str]:
        return [json.loads(row["detail"])["reason"] for row in self.of("events") if row["kind"] == "samples_unknown"]

    def epochs(self) -> list[int]:
        """How many different ids each epoch has; none has one twice."""
        epochs: dict[int, Counter[int]] = {}
        for row in self.of("samples"):
            epochs.setdefault(row["epoch"], Counter()).update(row["ids"])
        assert all(set(one.values()) == {1} for one in epochs.values())
        assert sorted(epochs) == list(range(len(epochs))), "an epoch is one that was trained on"
        return [len(epochs[epoch]) for epoch in sorted(epochs)]


# ---- scripts of which everything is known, also where they copy their batches ------------------------------------------


def looks_at_the_first_batch_before_each_epoch(script: Script) -> None:
    """As PyTorch's tutorial on DistributedDataParallel does, for the size of a batch."""
    loader = script.loader()
    for _ in range(3):
        len(next(iter(loader))[0])
        for (x,) in loader:
            script.train(x)


def keeps_the_batch_that_it_looked_at(script: Script) -> None:
    loader = script.loader()
    example = next(iter(loader))
    for (x,) in loader:
        script.train(x)
    assert len(example)


def passes_a_batch_forward_before_it_trains(script: Script) -> None:
    """To let a model find its shapes; with gradients, which nobody asks for."""
    loader = script.loader()
    example = next(iter(loader))[0]
    script.model(script.to(example))
    for (x,) in loader:
        script.train(x)


def reads_all_its_data_before_it_trains(script: Script) -> None:
    """For their mean and spread."""
    loader = script.loader()
    total = sum(x.sum() for (x,) in loader)
    for _ in range(2):
        for (x,) in loader:
            script.train(x)
    assert total > 0


def splits_its_batches_and_evaluates_after_each_epoch(script: Script) -> None:
    loader, held_out = script.loader(), script.loader(script.data(size=8, first=100))
    for _ in range(3):
        for (x,) in loader:
            for part in x.chunk(2):
                script.derive(part)
            script.update()
        script.evaluate(held_out, parts=2)


def knows_how_many_batches_there_are(script: Script) -> None:
    """No iterator is ever asked for its end; the next one may lie at the same address."""
    loader, held_out = script.loader(), script.loader(script.data(size=8, first=100))
    for _ in range(3):
        batches = iter(loader)
        for _ in range(len(loader)):
            for part in next(batches)[0].chunk(2):
                script.derive(part)
            script.update()
        del batches
        script.evaluate(itertools.islice(held_out, 2), parts=2)


def splits_its_batches_and_evaluates_with_gradients(script: Script) -> None:
    """Neither is the model switched to evaluation mode, nor are gradients switched off; nobody asks for them."""
    loader, held_out = script.loader(), script.loader(script.data(size=8, first=100))
    for _ in range(3):
        for (x,) in loader:
            for part in x.chunk(2):
                script.derive(part)
            script.update()
        for (x,) in held_out:
            for part in x.chunk(2):
                script.model(script.to(part))


def evaluates_in_the_body_of_the_loop(script: Script) -> None:
    loader, held_out = script.loader(), script.loader(script.data(size=8, first=100))
    for number, (x,) in enumerate(loader):
        if number % 2 == 0:
            script.evaluate(held_out)
        script.train(x)


def evaluates_one_batch_of_its_own_loader_in_the_body(script: Script) -> None:
    loader, held_out = script.loader(), script.loader(script.data(size=8, first=100))
    for number, (x,) in enumerate(loader):
        script.train(x)
        if number % 2 == 0:
            script.evaluate([next(iter(held_out))])


def evaluates_by_the_loader_that_it_trains_by(script: Script) -> None:
    loader = script.loader()
    for _ in range(2):
        for (x,) in loader:
            script.train(x)
        script.evaluate(loader)


def accumulates_over_batches(script: Script) -> None:
    loader = script.loader()
    for _ in range(2):
        for number, (x,) in enumerate(loader):
            script.derive(x)
            if number % 3 == 2:
                script.update()


def adds_up_the_losses_of_two_batches(script: Script) -> None:
    """One backward pass for both."""
    batches = iter(script.loader())
    for (x,) in batches:
        (y,) = next(batches)
        (script.model(script.to(x)).mean() + script.model(script.to(y)).mean()).backward()
        script.under_way += [*x[:, 0].int().tolist(), *y[:, 0].int().tolist()]
        script.update()


def throws_away_losses(script: Script) -> None:
    """As a script does that goes on after a loss that is no number."""
    for number, (x,) in enumerate(script.loader()):
        loss = script.model(script.to(x)).mean()
        if number in (1, 4):
            continue
        loss.backward()
        script.under_way += x[:, 0].int().tolist()
        script.update()


def throws_away_batches(script: Script) -> None:
    for number, (x,) in enumerate(script.loader()):
        if number not in (1, 4):
            script.train(x)


def leaves_its_loops_early(script: Script) -> None:
    loader = script.loader()
    for _ in range(3):
        for number, (x,) in enumerate(loader):
            if number == 3:
                break
            script.train(x)


def makes_its_loader_anew(script: Script) -> None:
    data = script.data()
    for _ in range(3):
        for (x,) in itertools.islice(script.loader(data), 4):
            script.train(x)


def goes_on_for_ever(script: Script) -> None:
    loader = script.loader()

    def endless() -> Iterator[Any]:
        while True:
            yield from loader

    for (x,) in itertools.islice(endless(), 15):
        script.train(x)


def two_models_by_one_batch(script: Script) -> None:
    """As a generator and its critic: the first is trained by noise while a batch waits."""
    torch = script.torch
    other = torch.nn.Linear(2, 2)
    others = torch.optim.SGD(other.parameters(), lr=1e-6)
    for (x,) in script.loader():
        script.derive(x)
        script.optimizer.step()
        script.optimizer.zero_grad()
        script.model(other(torch.randn(4, 2))).mean().backward()
        others.step()
        others.zero_grad()
        script.truth.append(sorted(script.under_way))
        script.under_way = []


def works_ahead_by_one_batch(script: Script) -> None:
    """As accelerate's loaders do, which must know of the last one that it is."""

    def one_ahead(loader: Any) -> Iterator[Any]:
        batches = iter(loader)
        kept = next(batches)
        while kept is not None:
            following = next(batches, None)
            yield kept
            kept = following

    loader = script.loader()
    for _ in range(2):
        for (x,) in one_ahead(loader):
            script.train(x)


def fetches_the_next_batch_before_the_backward_pass(script: Script) -> None:
    batches = iter(script.loader())
    kept = next(batches, None)
    while kept is not None:
        loss = script.model(script.to(kept[0])).mean()
        script.under_way += kept[0][:, 0].int().tolist()
        kept = next(batches, None)
        loss.backward()
        script.update()


KNOWN: list[Callable[[Script], None]] = [
    looks_at_the_first_batch_before_each_epoch, keeps_the_batch_that_it_looked_at, passes_a_batch_forward_before_it_trains,
    reads_all_its_data_before_it_trains, splits_its_batches_and_evaluates_after_each_epoch, splits_its_batches_and_evaluates_with_gradients, knows_how_many_batches_there_are, evaluates_in_the_body_of_the_loop,
    evaluates_one_batch_of_its_own_loader_in_the_body, evaluates_by_the_loader_that_it_trains_by, accumulates_over_batches,
    adds_up_the_losses_of_two_batches, throws_away_losses, throws_away_batches, leaves_its_loops_early, makes_its_loader_anew,
    goes_on_for_ever, two_models_by_one_batch, works_ahead_by_one_batch,
]  # fmt: skip


DEFECTS = (
    adds_up_the_losses_of_two_batches,
    evaluates_by_the_loader_that_it_trains_by,
    keeps_the_batch_that_it_looked_at,
    leaves_its_loops_early,
    looks_at_the_first_batch_before_each_epoch,
    passes_a_batch_forward_before_it_trains,
    reads_all_its_data_before_it_trains,
    splits_its_batches_and_evaluates_with_gradients,
    throws_away_batches,
    throws_away_losses,
)  # an iterator's batches are counted, not those trained on


@pytest.fixture(params=[False, True], ids=["shares", "copies"])
def script(request: pytest.FixtureRequest) -> Iterator[Script]:
    random.seed(0)
    made = Script(request.param)
    yield made
    while made.undo:
        made.undo.pop()()


@pytest.mark.parametrize(
    "train",
    [
        pytest.param(one, marks=pytest.mark.xfail(strict=True) if one in DEFECTS else (), id=one.__name__)
        for one in KNOWN
    ],
)
def test_a_step_s_samples_are_those_that_it_was_trained_on(script: Script, train: Callable[[Script], None]) -> None:
    train(script)
    script.close()
    assert script.unknown() == []
    assert script.told() == script.truth
    assert script.items() == [float(len(ids)) for ids in script.truth]
    script.epochs()
