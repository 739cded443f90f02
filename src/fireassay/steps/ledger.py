"""Of which epoch of which data are the samples of a batch?

An epoch is one iteration over a data set that was trained on, by any loader; so two loaders over the same data, or a new loader per
epoch, use no sample twice, and an iterator that was only peeked into does not count.
The ledger covers one data set: the first that is trained on. Another one of the same size replaces it once it was read to its end (data
recreated for each epoch); batches of any other are not in the ledger, because its indices mean other samples.
The size of the data set is recorded when a trained epoch was read to its end: a script that always leaves its loop early never meant
to use all of it.
"""

from __future__ import annotations

from typing import Any

from fireassay.steps.events import Source


class Ledger:
    """The data sets of this process, and which one the ledger covers."""

    def __init__(self) -> None:
        self._epochs: dict[Any, int] = {}
        self._key: Any = None  # of the ledger
        self._shift = self._last = 0  # epochs of the ledger's earlier data sets; the last epoch recorded
        self._first = 0
        self._read = 0  # when it was read to its end, unless begun again
        self._told = False

    def place(self) -> tuple[int, bool]:
        """The last epoch of the ledger, and whether it was read to its end."""
        return self._last, self._read > 0

    def goes_on(self, epoch: int) -> None:
        """After a restart, number the first trained epoch."""
        self._first = epoch

    def used(self, source: Source) -> int | None:
        """The ledger's epoch for a batch of this source; None if it is not in the ledger."""
        if not source.has_ids:
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

    def ended(self, source: Source, now: int) -> int | None:
        """The source was trained on and read to its end, in either order; the size of its data set, the first time."""
        source.ended = source.ended or now
        if source.key != self._key or source.epoch is None:
            return None
        self._read = source.ended
        if self._told or source.size is None:
            return None
        self._told = True
        return source.size
