"""Which data lie below a loader's data set?

`Subset` is followed to its parent, `TensorDataset` to the rows of its first tensor's storage, so that two splits of one tensor differ
from the same rows used twice. Data below any other wrapper or below a list are not told apart.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

FEW: Final = 16


@dataclass(slots=True, eq=False)
class View:
    """Maps a data set's indices to rows of the data below."""

    number: int
    below: int  # number of the data below
    maps: tuple[Any, ...]  # indices of nested subsets, the outermost first
    first: int  # row of index 0
    alive: Callable[[], bool]  # whether the data below still exist

    def rows(self, ids: Iterable[int]) -> list[int]:
        """The rows of these indices."""
        for indices in self.maps:
            ids = [indices[index] for index in ids]
        return [self.first + operator.index(index) for index in ids]


class DataBelow:
    """The data sets of this process; dead ones are forgotten, since a script may recreate them for every epoch or rollout."""

    def __init__(self, torch: Any) -> None:
        self._tools = torch.utils.data
        self._views: dict[int, tuple[Callable[[], Any], View | None]] = {}
        self._below: dict[Any, tuple[int, Callable[[], bool]]] = {}
        self._numbers = count()
        self._many = FEW

    def view(self, data: Any) -> View | None:
        """The view of a data set; None for a list."""
        known = self._views.get(id(data))
        if known is None or known[0]() is not data:
            if (reference := _weakly(data)) is None:
                return None
            known = self._views[id(data)] = (reference, self._find_below(data))
            self._sweep()
        return known[1]

    def _sweep(self) -> None:
        if len(self._views) + len(self._below) >= self._many:
            self._views = {key: view for key, view in self._views.items() if view[0]() is not None}
            self._below = {key: below for key, below in self._below.items() if below[1]()}
            self._many = 2 * (len(self._views) + len(self._below)) + FEW

    def _find_below(self, data: Any) -> View | None:
        tools, maps = self._tools, []
        while type(data) is tools.Subset:
            maps.append(data.indices)
            data = data.dataset
        if type(data) is tools.TensorDataset:
            tensor = data.tensors[0]
            if tensor.dim() == 0 or tensor.stride(0) <= 0:
                return None
            storage = tensor.untyped_storage()
            number, alive = self._number((storage._cdata, tensor.stride(0)), lambda: _Storage(storage))
            return View(next(self._numbers), number, tuple(maps), tensor.storage_offset() // tensor.stride(0), alive)
        if (reference := _weakly(data)) is None:
            return None
        number, alive = self._number(id(data), lambda: lambda: reference() is not None)
        return View(next(self._numbers), number, tuple(maps), 0, alive)

    def _number(self, key: Any, alive: Callable[[], Callable[[], bool]]) -> tuple[int, Callable[[], bool]]:
        known = self._below.get(key)
        if known is None or not known[1]():
            known = self._below[key] = (next(self._numbers), alive())
        return known


def _weakly(data: Any) -> Callable[[], Any] | None:
    try:
        return weakref.ref(data)
    except TypeError:  # a list
        return None


class _Storage:
    """A tensor's memory, weakly referenced: its address is not reused while this lives."""

    def __init__(self, storage: Any) -> None:
        self._key = storage._weak_ref()
        self._free, self._expired = type(storage)._free_weak_ref, type(storage)._expired

    def __call__(self) -> bool:
        return not self._expired(self._key)

    def __del__(self) -> None:
        self._free(self._key)
