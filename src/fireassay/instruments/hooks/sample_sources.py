"""Which samples does a batch of an unmodified script hold, and of which epoch of which data?

A loader's indices identify samples if its sampler gives each of them once: torch's own sequential, random and distributed samplers
over the whole data set, batched in order. An epoch is one iteration over a data set that was trained on, by any loader; so two loaders
over the same data, or a new loader per epoch, use no sample twice, and an iterator that was only peeked into does not count.
The ledger covers one data set: the first that is trained on. Another one of the same size replaces it once it was read to its end (data
recreated for each epoch); batches of any other are not in the ledger, because its indices mean other samples.
The size of the data set is recorded when a trained epoch was read to its end: a script that always leaves its loop early never meant
to use all of it.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Sized
from dataclasses import dataclass
from functools import partial
from itertools import tee
from types import GeneratorType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fireassay.instruments.recorder.recorder import Recorder

Key = tuple[int, int | None]


@dataclass(slots=True, eq=False)
class Source:
    """The data set that an iterator reads, in one of its epochs."""

    key: Key
    tells: bool  # whether its indices identify samples
    left: int  # batches until its end: a script that counts batches does not request another
    indexed: bool = False  # whether its indices are those of the data set's samples, in any selection
    loader: int = 0
    data: Callable[[], Any] | None = None  # the data set, weakly
    name: str = ""  # of the data set, for display
    iterator: Callable[[], Any] | None = None  # None once it is gone
    epoch: int | None = None  # set once it was trained on
    opened: int = 0  # event number
    ended: int = 0  # read to its end

    @property
    def alive(self) -> bool:
        """Whether its iterator may still be used."""
        return self.iterator is None or self.iterator() is not None

    def lost(self) -> None:
        """Batches bypass the hooks: from here on their samples are unknown."""
        self.tells = self.indexed = False

    def tap(self, iterator: Any, *, torchs: bool) -> Callable[[], Any]:
        """The samples of each batch, in order; helper processes request them ahead, through `_next_index`.

        The generator is teed in C, because a Python function in between costs each batch one to three microseconds. Never read beyond the
        first reader, which has taken a batch's indices before the batch arrives.
        """
        vars(iterator).pop("_next_index", None)
        if not self.indexed:
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

    @property
    def size(self) -> int | None:
        """Samples per epoch."""
        return self.key[1]


def _unknown() -> None:
    """Placeholder for unknown samples."""


class Sources:
    """The data sets of this process, and which one the ledger covers."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._epochs: dict[Key, int] = {}
        self._key: Key | None = None  # of the ledger
        self._shift = self._last = 0  # epochs of the ledger's earlier data sets; the last epoch recorded
        self._events = self._first = 0
        self._read = 0  # when it was read to its end, unless begun again
        self._told = False

    def place(self) -> tuple[int, bool]:
        """The last epoch of the ledger, and whether it was read to its end."""
        return self._last, self._read > 0

    def goes_on(self, epoch: int) -> None:
        """After a restart, number the first trained epoch."""
        self._first = epoch

    def opened(self, loader: Any, iterator: Any = None) -> Source:
        """A loader is iterated over."""
        key = (id(loader.dataset), _size(loader.dataset))
        tells = key[1] is not None and tells_ids(self._torch, loader)
        reference = None if iterator is None else weakref.ref(iterator)
        return Source(
            key,
            tells,
            len(loader) if tells else 0,
            indexed=tells or _is_indexed(self._torch, loader),
            loader=id(loader),
            data=_weakly(loader.dataset),
            name=_name(key[1], loader.dataset),
            iterator=reference,
            opened=self._next(),
        )

    def _next(self) -> int:
        self._events += 1
        return self._events

    def used(self, source: Source) -> int | None:
        """The ledger's epoch for a batch of this source; None if it is not in the ledger."""
        if not source.tells:
            return None
        if source.epoch is None:
            source.epoch = self._epochs[source.key] = self._epochs.get(source.key, -1) + 1
        if self._key is None:
            self._key, self._shift = source.key, self._first - source.epoch
        elif source.key != self._key:
            if not 0 < self._read < source.opened or source.size != self._key[1]:
                return None
            self._key, self._shift = source.key, self._last + 1 - source.epoch
        self._read = 0
        epoch = source.epoch + self._shift
        if epoch > self._last:
            self._last = epoch
        return epoch

    def ended(self, source: Source, recorder: Recorder) -> None:
        """The source was trained on and read to its end, in either order."""
        source.ended = source.ended or self._next()
        if source.key != self._key or source.epoch is None:
            return
        self._read = source.ended
        if not self._told and source.size is not None:
            self._told = True
            recorder.dataset(source.size)


def _name(size: int | None, dataset: Any) -> str:
    return type(dataset).__name__ if size is None else f"{type(dataset).__name__} of {size:,}"


def _weakly(dataset: Any) -> Callable[[], Any] | None:
    try:
        return weakref.ref(dataset)
    except TypeError:  # a list
        return None


def _is_indexed(torch: Any, loader: Any) -> bool:
    """Whether each batch has a list of sample indices, in the order of the batches."""
    if _of_torchdata(loader) and getattr(loader, "next_iter_state", None) is not None:
        return False
    maps = not isinstance(loader.dataset, torch.utils.data.IterableDataset)
    return bool(maps and getattr(loader, "batch_sampler", None) is not None and getattr(loader, "in_order", True))


def _size(dataset: Any) -> int | None:
    try:
        return len(dataset) if isinstance(dataset, Sized) else None
    except Exception:  # the loader works even if the script's __len__ fails
        return None


def tells_ids(torch: Any, loader: Any) -> bool:
    """Whether the batches' indices identify samples, each of which an epoch should use once.

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
    """Whether it has exactly that class, or torchdata's of the same name."""
    return type(thing) is kind or (_of_torchdata(thing) and type(thing).__name__.removeprefix("Stateful") == kind.__name__)
