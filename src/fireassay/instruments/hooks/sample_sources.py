"""Which samples does a batch of an unmodified script hold?

A loader's indices identify samples if its sampler gives each of them once: torch's own sequential, random and distributed samplers
over the whole data set, batched in order. Epochs are numbered by `fireassay.steps.ledger`.
"""

from __future__ import annotations

import time
import weakref
from collections import deque
from collections.abc import Callable, Sized
from functools import partial
from itertools import tee
from types import GeneratorType
from typing import Any

from fireassay.instruments.hooks.data_below import DataBelow
from fireassay.steps.events import GONE, Event, Source


class Sources:
    """The loaders of this process."""

    def __init__(self, torch: Any, append: Callable[[Event], None], now: Callable[[], int] = time.monotonic_ns) -> None:
        self._torch, self._append, self._now, self.below = torch, append, now, DataBelow(torch)

    def opened(self, loader: Any, iterator: Any = None) -> Source:
        """A loader is iterated over."""
        data = loader.dataset
        key = (id(data), _size(data))
        has_ids = key[1] is not None and gives_ids(self._torch, loader)
        source = Source(
            key,
            has_ids,
            len(loader) if has_ids else 0,
            indexed=has_ids or _is_indexed(self._torch, loader),
            loader=id(loader),
            name=_name(key[1], data),
            opened=self._now(),
        )
        source.view = self.below.view(data) if source.indexed else None
        if iterator is not None:
            source.reference = weakref.ref(iterator, lambda _: self.gone(source))
        return source

    def gone(self, source: Source) -> None:
        """Its iterator no longer exists, or begins anew."""
        self._append((GONE, self._now(), source))


def tap(source: Source, iterator: Any, *, torchs: bool) -> Callable[[], Any]:
    """The samples of each batch, in order; helper processes request them ahead, through `_next_index`.

    The generator is teed in C, because a Python function in between costs each batch one to three microseconds. Never read beyond the
    first reader, which has taken a batch's indices before the batch arrives.
    """
    vars(iterator).pop("_next_index", None)
    if not source.indexed:
        return _unknown
    if torchs and type(iterator._sampler_iter) is GeneratorType:
        iterator._sampler_iter, again = tee(iterator._sampler_iter)
        return partial(next, again, None)
    requested: deque[Any] = deque()
    reference, next_index = weakref.ref(iterator), type(iterator)._next_index

    def _next_index() -> Any:
        index = next_index(reference())
        requested.append(index)
        return index

    iterator._next_index = _next_index
    return lambda: requested.popleft() if requested else None


def _unknown() -> None:
    """Placeholder for unknown samples."""


def _name(size: int | None, dataset: Any) -> str:
    return type(dataset).__name__ if size is None else f"{type(dataset).__name__} of {size:,}"


def _is_indexed(torch: Any, loader: Any) -> bool:
    """True if each batch has a list of sample indices, in the order of the batches."""
    if _of_torchdata(loader) and getattr(loader, "next_iter_state", None) is not None:
        return False
    maps = not isinstance(loader.dataset, torch.utils.data.IterableDataset)
    return bool(maps and getattr(loader, "batch_sampler", None) is not None and getattr(loader, "in_order", True))


def _size(dataset: Any) -> int | None:
    try:
        return len(dataset) if isinstance(dataset, Sized) else None
    except Exception:  # the loader works even if the script's __len__ fails
        return None


def gives_ids(torch: Any, loader: Any) -> bool:
    """True if the batches' indices identify samples, each of which an epoch should use once.

    torchdata's StatefulDataLoader has equivalent samplers; with a state it resumes in the middle of an epoch and draws indices that it
    then skips, so its samples are unknown until the next epoch.
    """
    data = torch.utils.data
    if _of_torchdata(loader) and getattr(loader, "next_iter_state", None) is not None:
        return False
    batches: Any = getattr(loader, "batch_sampler", None)
    if _of_accelerate(batches, "BatchSamplerShard"):  # this rank's share of the inner sampler's batches
        batches = batches.batch_sampler
    sampler: Any = getattr(batches, "sampler", None)
    if not _is(batches, data.BatchSampler) or not getattr(loader, "in_order", True):
        return False
    if _is(sampler, data.distributed.DistributedSampler):
        return len(sampler.dataset) == len(loader.dataset)
    shuffles = _is(sampler, data.RandomSampler) or _of_accelerate(sampler, "SeedableRandomSampler")
    if shuffles and (sampler.replacement or sampler.num_samples != len(loader.dataset)):
        return False
    return (shuffles or _is(sampler, data.SequentialSampler)) and len(sampler.data_source) == len(loader.dataset)


def _of_accelerate(thing: Any, name: str) -> bool:
    return type(thing).__name__ == name and type(thing).__module__.partition(".")[0] == "accelerate"


def _of_torchdata(thing: Any) -> bool:
    return type(thing).__module__.partition(".")[0] == "torchdata"


def _is(thing: Any, kind: type) -> bool:
    """True if it has exactly that class, or torchdata's of the same name."""
    return type(thing) is kind or (_of_torchdata(thing) and type(thing).__name__.removeprefix("Stateful") == kind.__name__)
