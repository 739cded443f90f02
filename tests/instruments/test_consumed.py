"""The samples of a step are those that it was trained on, not those that an iterator yielded.

Every sample's first number is its id, so that each script notes for itself what its steps consumed.
"""

from __future__ import annotations

import itertools
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fireassay.instruments.recorder.recorder import Recorder
from fireassay.instruments.recorder.sink import Identity, MemorySink
from fireassay.record.tables import TABLES
from tests.tiers import some

pytestmark = pytest.mark.torch
SIZE, BATCH = 24, 4


class Script:
    """A training of one process with the hooks in, and what it consumed."""

    def __init__(self, copies: bool) -> None:
        import torch

        from fireassay.instruments.hooks import torch_hooks
        from fireassay.instruments.hooks.steps import Attached

        self.torch, self.copies, self.sink, self.undo = torch, copies, MemorySink(), list[Any]()
        self.recorder = Recorder(Identity(launch=0, rank=0, workers=1, incarnation=0, seed=0, host="here"), self.sink)
        self.attached = Attached(torch, self.recorder)
        torch_hooks.install(torch, self.attached, self.undo)
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


def fetches_several_batches_and_then_trains_on_each(script: Script) -> None:
    """As the trainer of transformers does, which wants to know how many tokens its accumulated gradient is of."""
    for _ in range(2):
        batches = iter(script.loader(drop_last=True))
        while group := list(itertools.islice(batches, 4)):
            for (x,) in group:
                script.derive(x)
            script.update()


def fetches_the_next_batch_before_the_backward_pass(script: Script) -> None:
    batches = iter(script.loader())
    kept = next(batches, None)
    while kept is not None:
        loss = script.model(script.to(kept[0])).mean()
        script.under_way += kept[0][:, 0].int().tolist()
        kept = next(batches, None)
        loss.backward()
        script.update()


def loses_a_batch_that_cannot_be_read(script: Script) -> None:
    """One sample's file is broken; the script goes on with the next batch."""
    good = script.data()

    class Broken(script.torch.utils.data.Dataset):  # type: ignore[misc,name-defined]
        def __len__(self) -> int:
            return SIZE

        def __getitem__(self, place: int) -> Any:
            if place == 5:
                raise OSError("cannot be read")
            return good[place]

    data = Broken()
    for _ in range(6):
        batches = iter(script.loader(data))
        for _ in range(SIZE // BATCH):
            try:
                (x,) = next(batches)
            except OSError:
                continue
            script.train(x)


def has_a_sampler_that_is_no_generator(script: Script) -> None:
    """An object with `__next__`: nobody may put another one in its place."""
    made: list[Any] = []

    class Backwards:
        def __init__(self) -> None:
            self.left = SIZE
            made.append(self)

        def __iter__(self) -> Any:
            return self

        def __next__(self) -> list[int]:
            if not self.left:
                raise StopIteration
            self.left -= BATCH
            return list(range(self.left, self.left + BATCH))

    class Sampler(script.torch.utils.data.BatchSampler):  # type: ignore[misc,name-defined]
        def __iter__(self) -> Any:
            return Backwards()

    for _ in range(3):
        order = Sampler(range(SIZE), BATCH, drop_last=False)
        batches = iter(script.loader(batch_sampler=order, batch_size=1, shuffle=False))
        for (x,) in batches:
            script.train(x)
        assert batches._sampler_iter is made[-1]  # type: ignore[attr-defined]


KNOWN: list[Callable[[Script], None]] = [
    loses_a_batch_that_cannot_be_read,
    looks_at_the_first_batch_before_each_epoch,
    keeps_the_batch_that_it_looked_at,
    passes_a_batch_forward_before_it_trains,
    reads_all_its_data_before_it_trains,
    splits_its_batches_and_evaluates_after_each_epoch,
    splits_its_batches_and_evaluates_with_gradients,
    knows_how_many_batches_there_are,
    evaluates_in_the_body_of_the_loop,
    evaluates_one_batch_of_its_own_loader_in_the_body,
    evaluates_by_the_loader_that_it_trains_by,
    accumulates_over_batches,
    adds_up_the_losses_of_two_batches,
    throws_away_losses,
    throws_away_batches,
    leaves_its_loops_early,
    makes_its_loader_anew,
    goes_on_for_ever,
    two_models_by_one_batch,
    works_ahead_by_one_batch,
    fetches_several_batches_and_then_trains_on_each,
    fetches_the_next_batch_before_the_backward_pass,
]


@pytest.fixture(params=[False, True], ids=["shares", "copies"])
def script(request: pytest.FixtureRequest) -> Iterator[Script]:
    random.seed(0)
    made = Script(request.param)
    yield made
    while made.undo:
        made.undo.pop()()


@pytest.mark.parametrize("train", some(KNOWN, 12), ids=lambda one: one.__name__)
def test_a_step_s_samples_are_those_that_it_was_trained_on(script: Script, train: Callable[[Script], None]) -> None:
    train(script)
    script.close()
    assert script.unknown() == []
    assert script.told() == script.truth
    assert script.items() == [float(len(ids)) for ids in script.truth]
    script.epochs()


# ---- batches that are trained on more than once, or in part -------------------------------------------------------------


def repeats_one_batch(script: Script) -> None:
    (x,) = next(iter(script.loader()))
    for _ in range(5):
        script.train(x)


def updates_by_parts(script: Script) -> None:
    """Several updates by each batch, two rounds over its parts."""
    for (x,) in script.loader():
        for _ in range(2):
            for part in x.chunk(2):
                script.train(part)


def keeps_a_list_of_batches(script: Script) -> None:
    batches = list(script.loader())
    for _ in range(2):
        random.shuffle(batches)
        for (x,) in batches:
            script.train(x)


def replays_its_batches(script: Script) -> None:
    for (x,) in itertools.islice(itertools.cycle(script.loader()), 15):
        script.train(x)


AGAIN = [repeats_one_batch, updates_by_parts, keeps_a_list_of_batches, replays_its_batches]


@pytest.mark.parametrize("train", AGAIN, ids=lambda one: one.__name__)
def test_ids_are_told_once_and_items_in_each_step_that_works_on_them(train: Callable[[Script], None]) -> None:
    script = Script(copies=False)
    train(script)
    script.close()
    assert script.unknown() == []
    assert script.items() == [float(len(ids)) for ids in script.truth]
    seen = set[int]()
    for told, consumed in zip(script.told(), script.truth, strict=True):
        assert told == sorted(set(consumed) - seen)
        seen.update(consumed)
    assert script.epochs() == [len(seen)]


@pytest.mark.parametrize("train", AGAIN, ids=lambda one: one.__name__)
def test_of_copies_the_ids_are_told_once_or_the_ledger_is_not_known(train: Callable[[Script], None]) -> None:
    script = Script(copies=True)
    train(script)
    script.close()
    assert bool(script.unknown()) == (train is keeps_a_list_of_batches)
    if not script.unknown():
        first = {id for ids in script.truth for id in ids}
        assert script.epochs() == [len(first)]
        assert sum(items or 0.0 for items in script.items()) == len(first), "later steps' work is null, never a guess"


# ---- orders that could be another one -----------------------------------------------------------------------------------


def skips_the_first_by_the_same_iterator(script: Script) -> None:
    for _ in range(2):
        batches = iter(script.loader())
        next(batches)
        for (x,) in batches:
            script.train(x)


def goes_on_in_the_middle_of_an_epoch(script: Script) -> None:
    for number, (x,) in enumerate(script.loader()):
        if number > 2:
            script.train(x)


def mixes_two_iterators_of_one_loader(script: Script) -> None:
    loader = script.loader()
    for (x,), (y,) in zip(loader, loader, strict=True):
        script.derive(x)
        script.derive(y)
        script.update()


@pytest.mark.parametrize(
    "train",
    [skips_the_first_by_the_same_iterator, goes_on_in_the_middle_of_an_epoch, mixes_two_iterators_of_one_loader],
    ids=lambda one: one.__name__,
)
def test_what_cannot_be_told_by_order_is_told_by_identity_or_said_to_be_unknown(script: Script, train: Callable[[Script], None]) -> None:
    train(script)
    script.close()
    assert bool(script.unknown()) == script.copies
    if not script.copies:
        assert script.told() == script.truth
        script.epochs()


# ---- where a copy is seen by what goes with it ---------------------------------------------------------------------------


def test_a_batch_whose_inputs_are_transformed_is_known_by_its_targets() -> None:
    script = Script(copies=False)
    torch = script.torch
    ids = torch.arange(SIZE).float()
    data = torch.utils.data.TensorDataset(torch.stack([ids, ids * 0], 1), ids[:, None])
    loss_of = torch.nn.MSELoss()
    for number, (x, y) in enumerate(script.loader(data)):
        if number != 1:
            loss_of(script.model(x * 0.5), y).backward()
            script.under_way += y[:, 0].int().tolist()
            script.update()
    script.close()
    assert script.told() == script.truth


def test_labelled_and_unlabelled_batches_of_one_step_are_both_seen(script: Script) -> None:
    """The ledger is about one data set; the step's work is of both."""
    labelled, unlabelled = script.loader(), script.loader(script.data(first=100))
    for (x,), (y,) in zip(labelled, unlabelled, strict=True):
        (script.model(script.to(x)).mean() + script.model(script.to(y)).mean()).backward()
        script.under_way += x[:, 0].int().tolist()
        script.update()
    script.close()
    assert script.told() == script.truth
    assert script.items() == [2.0 * BATCH] * (SIZE // BATCH)


def test_batches_that_are_views_of_one_storage_are_told_apart() -> None:
    """A collate function that gives a sample as it is: all of them share the data set's memory."""
    script = Script(copies=False)
    loader = script.loader(batch_size=1, collate_fn=lambda rows: (rows[0][0][None],))
    for number, (x,) in enumerate(loader):
        if number % 5:
            script.train(x)
    script.close()
    assert script.told() == script.truth


def test_nothing_of_a_batch_is_kept_in_memory(script: Script) -> None:
    import gc
    import weakref

    kept = []
    for (x,) in script.loader():
        kept.append(weakref.ref(x))
        script.train(x)
    del x
    script.optimizer.zero_grad()
    gc.collect()
    assert [one() for one in kept] == [None] * len(kept)
    script.close()


def test_what_is_known_of_batches_does_not_pile_up(script: Script) -> None:
    for _ in range(60):
        for number, (x,) in enumerate(script.loader()):
            if number == 4:
                break
            script.train(x)
    script.attached.read()
    known = script.attached.storages
    assert len(known.pieces) <= known.max_pieces <= 128
    assert len(script.attached.reader.order.queues) < 64
    script.close()


@pytest.mark.parametrize("persistent", [False, True])
def test_helpers_fetch_ahead_and_only_what_is_trained_on_counts(script: Script, persistent: bool) -> None:
    loader = script.loader(num_workers=1, persistent_workers=persistent)
    for _ in range(2):
        next(iter(loader))
        for number, (x,) in enumerate(loader):
            if number == 4:
                break
            script.train(x)
    script.close()
    assert script.unknown() == []
    assert script.told() == script.truth
    assert script.epochs() == [4 * BATCH] * 2


# ---- the same samples in training and evaluation --------------------------------------------------------------------------

Told = tuple[int, int, bool]  # samples, those that were trained on, whether of the training's own data set


def evaluated(script: Script) -> list[Told]:
    found = []
    for row in script.of("events"):
        if row["kind"] == "evaluated_samples":
            detail = json.loads(row["detail"])
            found.append((detail["samples"], int(row["value"]), detail["training_data"]))
    return found


def one_epoch(script: Script, train: Any, *held_out: Any) -> list[Told]:
    for (x,) in train:
        script.train(x)
    for loader in held_out:
        script.evaluate(loader)
    script.close()
    return evaluated(script)


def test_splits_of_one_data_set_share_no_sample(script: Script) -> None:
    parts = script.torch.utils.data.random_split(script.data(), [16, 8])
    assert one_epoch(script, *map(script.loader, parts)) == [(8, 0, False)]


def test_rows_of_one_tensor_are_told_apart(script: Script) -> None:
    kind, x = script.torch.utils.data.TensorDataset, script.data().tensors[0]
    clean, shared = kind(x[16:]), kind(x[12:20])
    train, *held_out = (script.loader(data, shuffle=False) for data in (kind(x[:16]), clean, shared))
    assert one_epoch(script, train, *held_out) == [(8, 0, False), (8, 4, False)]


def test_subsets_that_overlap_are_seen(script: Script) -> None:
    subset, data = script.torch.utils.data.Subset, script.data()
    train, held_out = subset(data, range(16)), subset(subset(data, range(8, 24)), [0, 1, 10, 11])
    assert one_epoch(script, script.loader(train), script.loader(held_out)) == [(4, 2, False)]


def test_samplers_of_one_data_set_are_told_apart(script: Script) -> None:
    tools, data = script.torch.utils.data, script.data()
    train, held_out, shared = (
        script.loader(data, shuffle=False, sampler=tools.SubsetRandomSampler(list(ids)))
        for ids in (range(16), range(16, 24), range(12, 20))
    )
    assert one_epoch(script, train, held_out, shared) == [(8, 0, True), (8, 4, True)]


def test_the_training_s_own_data_are_named_so(script: Script) -> None:
    loader = script.loader()
    assert one_epoch(script, loader, loader) == [(SIZE, SIZE, True)]


def test_an_evaluation_before_the_training_is_of_new_data(script: Script) -> None:
    loader = script.loader()
    script.evaluate(loader)
    assert one_epoch(script, loader) == [(SIZE, 0, False)]


def test_statistics_taken_in_training_mode_are_no_evaluation(script: Script) -> None:
    """As `swa_utils.update_bn` takes them, over the training's data."""
    loader = script.loader()
    for (x,) in loader:
        script.train(x)
    script.model.train()
    with script.torch.no_grad():
        for (x,) in loader:
            script.model(script.to(x))
    script.close()
    assert evaluated(script) == []


def test_each_fold_of_a_cross_validation_is_a_training_of_its_own(script: Script) -> None:
    torch, data = script.torch, script.data()
    subset = torch.utils.data.Subset
    for fold in range(3):
        script.model = torch.nn.Linear(2, 1)
        script.optimizer = torch.optim.SGD(script.model.parameters(), lr=1e-6)
        rest = [row for row in range(SIZE) if row % 3 != fold]
        for (x,) in script.loader(subset(data, rest)):
            script.train(x)
        script.evaluate(script.loader(subset(data, range(fold, SIZE, 3))))
    script.close()
    assert evaluated(script) == [(8, 0, False)] * 3


def test_many_evaluations_are_told_rarely_and_the_last_one_always(script: Script) -> None:
    train, held_out = script.loader(), script.loader(script.data(size=8, first=100))
    for _ in range(11):
        for (x,) in itertools.islice(train, 1):
            script.train(x)
        script.evaluate(held_out)
    script.close()
    assert evaluated(script) == [(8, 0, False)] * 6, "passes 1 to 4, 8 and 11"


# ---- events, which are read many at once -----------------------------------------------------------------------------------


def rows_of(train: Callable[[Script], None], *, copies: bool, at_once: bool) -> list[Any]:
    """All that is recorded but for times."""
    random.seed(0)
    script = Script(copies)
    if at_once:
        append = script.attached.append
        script.attached.append = lambda event: (append(event), script.attached.read())[0]
    train(script)
    script.close()
    steps = [{name: value if name in ("step", "items") else value is None for name, value in row.items()} for row in script.of("steps")]
    events = [(row["kind"], row["step"]) for row in script.of("events")]
    prints = [(row["step"], row["what"], row["value"], row["text"]) for row in script.of("fingerprints")]
    return [steps, script.of("samples"), sorted(events), sorted(prints, key=repr)]


def long_training(script: Script) -> None:
    held_out = script.loader(script.data(size=8, first=100))
    for _ in range(12):
        for (x,) in script.loader():
            script.train(x)
        script.evaluate(held_out)


def evaluates_often(script: Script) -> None:
    """An evaluation after each 20 steps."""
    held_out = script.loader(script.data(size=8, first=100))
    for number, (x,) in enumerate(script.loader(script.data(size=300), batch_size=1)):
        script.train(x)
        if number % 20 == 19:
            script.evaluate(held_out)


@pytest.mark.parametrize("train", some([*AGAIN, long_training, evaluates_often, *KNOWN], 7), ids=lambda one: one.__name__)
@pytest.mark.parametrize("copies", [False, True], ids=["shares", "copies"])
def test_what_events_say_does_not_depend_on_when_they_are_read(train: Callable[[Script], None], copies: bool) -> None:
    assert rows_of(train, copies=copies, at_once=True) == rows_of(train, copies=copies, at_once=False)


def test_rows_are_noted_until_an_epoch_was_trained_on_as_a_whole(script: Script) -> None:
    loader, held_out = script.loader(), script.loader(script.data(size=8, first=100))
    for _ in range(3):
        for (x,) in loader:
            script.train(x)
        script.evaluate(held_out)
    script.attached.read()
    (below,) = (rows for rows in script.attached.reader.overlap.below.values() if any(rows.views.values()))
    assert len(below.pending) == SIZE // BATCH, "of one epoch"
    script.evaluate(loader)
    script.close()
    assert evaluated(script)[-1] == (SIZE, SIZE, True)


def test_a_hash_that_waits_for_a_processor_takes_no_time_from_the_hooks_cost(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashing is not part of the cost, which is processor time: what it waited, as on a busy machine, must not be taken off either."""
    from fireassay.instruments.fingerprints.model_hash import Watch

    hashes = Watch.hashes

    def waits(watch: Watch, step: int) -> Any:
        time.sleep(0.02)
        return hashes(watch, step)

    monkeypatch.setattr(Watch, "hashes", waits)
    for (x,) in script.loader():
        script.train(x)
    script.close()
    assert script.of("fingerprints") != []
    assert all(cost > 0 for times in script.attached.costs.times for cost in times)
    assert sum(map(len, script.attached.costs.times)) > 3
