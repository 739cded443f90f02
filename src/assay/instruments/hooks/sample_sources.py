"""Which samples does a batch of an unmodified script hold, and of which epoch of which data?

A loader's indices name samples where its sampler gives each of them once: torch's own sequential, random and distributed samplers
over the whole data set, batched in order.  An epoch is one iteration over a data set that was trained on, by whichever loader; so two
loaders over the same data, or a loader made anew for each epoch, use no sample twice, and an iterator that was only peeked into is none.
The ledger is about one data set: the first that is trained on.  Another one of the same size takes its place once it was read to
its end (data made anew for each epoch); batches of any other are no part of the ledger, for its numbers name other samples.
The size of the data set is told when an epoch that was trained on was read to its end: a script that always leaves its loop early never
wanted it all.
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
    from assay.instruments.recorder.recorder import Recorder

Key = tuple[int, int | None]


@dataclass(slots=True, eq=False)
class Source:
    """What an iterator reads: a data set, in one of its epochs."""

    key: Key
    tells: bool  # whether its indices name samples
    left: int  # batches until its end: a script that knows their number does not ask whether there is another
    indexed: bool = False  # whether its indices are those of the data set's samples, in whichever selection
    loader: int = 0
    data: Callable[[], Any] | None = None  # the data set, while it exists
    name: str = ""  # of the data set, for people
    iterator: Callable[[], Any] | None = None  # None once it is gone
    epoch: int | None = None  # once it was trained on
    opened: int = 0  # of all events here, by number
    ended: int = 0  # read to its end

    @property
    def alive(self) -> bool:
        """Whether its iterator may still be asked."""
        return self.iterator is None or self.iterator() is not None

    def lost(self) -> None:
        """Batches are asked for that nobody sees come: from here on nobody knows which one holds which samples."""
        self.tells = self.indexed = False

    def tap(self, iterator: Any, *, torchs: bool) -> Callable[[], Any]:
        """The samples of each batch, in the order of the batches; helpers ask for them ahead, by `_next_index`.

        A sampler's generator is read twice, the second time by what is given: in C, for a function in Python in its way costs each batch a
        microsecond or three.  Never beyond the first reader, which has taken a batch's indices before the batch is here.
        """
        vars(iterator).pop("_next_index", None)
        if not self.indexed:
            return _unknown
        if torchs and type(iterator._sampler_iter) is GeneratorType:
            iterator._sampler_iter, again = tee(iterator._sampler_iter)
            return partial(next, again, None)
        asked: deque[Any] = deque()
        there, next_index = weakref.ref(iterator), type(iterator)._next_index

        def _next_index() -> Any:
            index = next_index(there())
            asked.append(index)
            return index

        iterator._next_index = _next_index
        return lambda: asked.popleft() if asked else None

    @property
    def size(self) -> int | None:
        """Samples of an epoch."""
        return self.key[1]


def _unknown() -> None:
    """Of no batch."""


class Sources:
    """The data sets of this process, and which of them the ledger is about."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._epochs: dict[Key, int] = {}
        self._key: Key | None = None  # of the ledger
        self._shift = self._last = 0  # epochs of data sets that it was about before; the last epoch told
        self._events = self._first = 0
        self._read = 0  # when it was read to its end and not begun again
        self._told = False

    def place(self) -> tuple[int, bool]:
        """The last epoch of the ledger, and whether it was read to its end."""
        return self._last, self._read > 0

    def goes_on(self, epoch: int) -> None:
        """After a restart the first epoch that is trained on has this number."""
        self._first = epoch

    def opened(self, loader: Any, iterator: Any = None) -> Source:
        """Somebody iterates over a loader."""
        key = (id(loader.dataset), _size(loader.dataset))
        tells = key[1] is not None and tells_ids(self._torch, loader)
        there = None if iterator is None else weakref.ref(iterator)
        return Source(
            key,
            tells,
            len(loader) if tells else 0,
            indexed=tells or _is_indexed(self._torch, loader),
            loader=id(loader),
            data=_weakly(loader.dataset),
            name=_name(key[1], loader.dataset),
            iterator=there,
            opened=self._next(),
        )

    def _next(self) -> int:
        self._events += 1
        return self._events

    def used(self, source: Source) -> int | None:
        """The epoch of the ledger that a batch of this source belongs to; None where it is no part of it."""
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
        """It was read to its end, and trained on: that is known after either."""
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
    """Whether each batch has a list of indices of samples, in the order of the batches."""
    if _of_torchdata(loader) and getattr(loader, "next_iter_state", None) is not None:
        return False
    maps = not isinstance(loader.dataset, torch.utils.data.IterableDataset)
    return bool(maps and getattr(loader, "batch_sampler", None) is not None and getattr(loader, "in_order", True))


def _size(dataset: Any) -> int | None:
    try:
        return len(dataset) if isinstance(dataset, Sized) else None
    except Exception:  # whatever a script's own __len__ does, the loader does without it
        return None


def tells_ids(torch: Any, loader: Any) -> bool:
    """Whether the batches' indices name samples, each of which an epoch should use once.

    torchdata's StatefulDataLoader has samplers of its own, of the same meaning; where it was given a state it goes on in the middle of
    an epoch and asks again for indices that it then skips: until the next epoch its samples are not known.
    """
    data = torch.utils.data
    if _of_torchdata(loader) and getattr(loader, "next_iter_state", None) is not None:
        return False
    batches: Any = getattr(loader, "batch_sampler", None)
    if _of_accelerate(batches, "BatchSamplerShard"):  # this rank's batches of those that the inner one makes
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
    """Of that very class, or of torchdata's of the same name."""
    return type(thing) is kind or (_of_torchdata(thing) and type(thing).__name__.removeprefix("Stateful") == kind.__name__)
