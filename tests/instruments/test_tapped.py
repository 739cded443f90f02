"""A sampler's indices are read twice: never before the loader has asked for them, and nothing of it stays when its loader is gone."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from fireassay.instruments.recorder.recorder import Recorder
from fireassay.instruments.recorder.sink import Identity, MemorySink

pytestmark = pytest.mark.torch
SIZE, BATCH = 40, 4


@pytest.fixture
def torch() -> Iterator[Any]:
    """With the hooks in."""
    import torch

    from fireassay.instruments.hooks import torch_hooks
    from fireassay.instruments.hooks.steps import Attached

    undo: list[Any] = []
    recorder = Recorder(Identity(launch=0, rank=0, workers=1, incarnation=0, seed=0, host="here"), MemorySink())
    torch_hooks.install(torch, Attached(torch, recorder), undo)
    yield torch
    while undo:
        undo.pop()()


def counted(torch: Any) -> tuple[Any, list[int]]:
    """A sampler, and the samples that it was asked for so far."""
    asked: list[int] = []

    class Counted(torch.utils.data.Sampler):  # type: ignore[misc,name-defined]
        data_source = range(SIZE)

        def __len__(self) -> int:
            return SIZE

        def __iter__(self) -> Iterator[int]:
            for place in range(SIZE):
                asked.append(place)
                yield place

    return Counted(), asked


def trained(torch: Any, loader: Any, steps: int) -> Any:
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    batches = iter(loader)
    for _ in range(steps):
        model(next(batches)).mean().backward()
        optimizer.step()
    return batches


@pytest.mark.parametrize("helpers", [0, 1])
def test_a_sampler_is_asked_for_no_more_than_without_hooks(torch: Any, helpers: int) -> None:
    """A generator of random numbers would go on otherwise."""
    sampler, asked = counted(torch)
    loader = torch.utils.data.DataLoader(torch.ones(SIZE, 1), BATCH, sampler=sampler, num_workers=helpers)
    batches = trained(torch, loader, 3)
    ahead = 2 * helpers  # batches that helpers are asked for before they are wanted
    assert asked == list(range(BATCH * (3 + ahead)))
    assert batches._assay_source.indexed


def test_what_a_thread_of_the_script_reads_is_kept_by_nobody(torch: Any) -> None:
    import threading

    loader = torch.utils.data.DataLoader(torch.ones(SIZE, 1), BATCH)
    batches: list[Any] = []

    def fetch() -> None:
        batches.append(iter(loader))
        next(batches[0])

    thread = threading.Thread(target=fetch)
    thread.start()
    thread.join()
    assert batches[0]._assay_ids() is None
    assert not batches[0]._assay_source.indexed


def test_a_loader_left_early_goes_with_its_sampler(torch: Any) -> None:
    ended: list[bool] = []

    class Closing(torch.utils.data.Sampler):  # type: ignore[misc,name-defined]
        def __len__(self) -> int:
            return SIZE

        def __iter__(self) -> Iterator[int]:
            try:
                yield from range(SIZE)
            finally:
                ended.append(True)

    loader = torch.utils.data.DataLoader(torch.ones(SIZE, 1), BATCH, sampler=Closing())
    there = weakref.ref(trained(torch, loader, 3))
    gc.collect()
    assert there() is None
    assert ended == [True]


def test_a_script_that_reads_the_sampler_itself_is_found_at_the_end_of_the_epoch(monkeypatch: pytest.MonkeyPatch, torch: Any) -> None:
    """As some do to go on in the middle of an epoch: which batch holds which samples is not known then."""
    told: list[str] = []
    monkeypatch.setattr(Recorder, "unknown_samples", lambda _, why: told.append(why))
    sampler, _ = counted(torch)
    loader = torch.utils.data.DataLoader(torch.ones(SIZE, 1), BATCH, sampler=sampler)
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for skipped in (0, 2):
        batches = iter(loader)
        for _ in range(skipped):
            next(batches._sampler_iter)
        for x in batches:
            model(x).mean().backward()
            optimizer.step()
        assert len(told) == bool(skipped)
