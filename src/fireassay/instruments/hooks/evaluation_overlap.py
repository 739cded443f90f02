"""Was an evaluated sample used in training before?

Samples are rows of the data below a loader's data set: `Subset` is followed to its parent, `TensorDataset` to the rows of its first
tensor's storage, so that two splits of one tensor differ from the same rows used twice. An evaluation is a batch that was passed to a
module in evaluation mode, without gradients, and not trained on before the next was requested. A new optimizer starts a new training
(cross-validation).

Cannot tell: data sets that hold copies of the same samples; data below any other wrapper or below a list; samples that another rank
was trained on.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from fireassay.instruments.hooks.batches import Fetched
from fireassay.instruments.hooks.sample_sources import Source

MOST_ROWS: Final = 1 << 24  # one byte each
FEW: Final = 16  # data sets
KEPT: Final = 512  # batches whose rows are marked together
EVERY_PASS: Final = 4  # recorded each; later ones at powers of two, and the last


@dataclass(slots=True, eq=False)
class Rows:
    """The data below one or more data sets, and which of its rows were trained on."""

    alive: Callable[[], bool]
    trained: bytearray = field(default_factory=bytearray)
    pending: list[tuple[View, list[int]]] = field(default_factory=list)

    def note(self) -> None:
        """Mark the rows that were trained on."""
        pending, self.pending = self.pending, []
        for view, ids in pending:
            rows = [row for row in view.rows(ids) if row < MOST_ROWS]
            if rows and max(rows) >= len(self.trained):
                self.trained.extend(bytes(max(rows) + 1 - len(self.trained)))
            for row in rows:
                self.trained[row] = 1


@dataclass(slots=True, eq=False)
class View:
    """Maps a data set's indices to rows of the data below."""

    below: Rows
    maps: tuple[Any, ...]  # indices of nested subsets, the outermost first
    first: int  # row of index 0
    trained: bool = False  # the data set itself is trained on
    whole: Source | None = None  # the first one trained on to its end: later ones have the same samples

    def rows(self, ids: Iterable[int]) -> list[int]:
        """The rows of these indices."""
        for indices in self.maps:
            ids = [indices[index] for index in ids]
        return [self.first + operator.index(index) for index in ids]


@dataclass(slots=True)
class Evaluation:
    """One iteration over held-out data."""

    samples: int = 0
    trained_on: int = 0
    same: bool = False  # uses the training's data set


class Evaluated:
    """How training and evaluations use the data of this process."""

    def __init__(self, torch: Any, tell: Callable[[str, Evaluation], None]) -> None:
        self._torch, self._tell = torch, tell
        self._views: dict[int, tuple[Callable[[], Any], View | None]] = {}
        self._below: dict[Any, Rows] = {}
        self._many = FEW  # total at which dead ones are removed
        self.under_way: dict[Source, Evaluation] = {}
        self._passes: dict[tuple[str, bool], int] = {}
        self._last: dict[tuple[str, bool], Evaluation] = {}  # not recorded yet

    def trained(self, fetched: Fetched, ids: list[int]) -> None:
        """A step trains on these samples of a batch."""
        view = None if fetched.source is None or not _are_rows(ids) else self._view(fetched.source)
        if view is not None and fetched.source is not None:
            if view.whole is not None and view.whole is not fetched.source:
                return
            view.trained, view.whole = True, fetched.source if fetched.source.ended else None
            view.below.pending.append((view, ids))
            if len(view.below.pending) >= KEPT:
                view.below.note()

    def looked(self, batches: Iterable[Fetched]) -> None:
        """These batches were evaluated, not trained on."""
        for batch in batches:
            if batch.evaluated and batch.ids is not None and batch.source is not None:
                self._evaluate(batch.source, batch.ids)

    def _evaluate(self, source: Source, ids: list[int]) -> None:
        view = self._view(source)
        if view is None or not _are_rows(ids):
            return
        view.below.note()
        trained, evaluation = view.below.trained, self.under_way.setdefault(source, Evaluation())
        rows = view.rows(ids)
        evaluation.samples += len(rows)
        evaluation.trained_on += sum(row < len(trained) and trained[row] for row in rows)
        evaluation.same = view.trained

    def ended(self) -> None:
        """Training continues, or the process ends."""
        for source, evaluation in self.under_way.items():
            key = (source.name, evaluation.same)
            number = self._passes[key] = self._passes.get(key, 0) + 1
            if number <= EVERY_PASS or not number & (number - 1):
                self._tell(source.name, evaluation)
                self._last.pop(key, None)
            else:
                self._last[key] = evaluation
        self.under_way.clear()

    def begins_anew(self) -> None:
        """A new optimizer: later training may be of another model."""
        self._below.clear()
        self._views.clear()

    def close(self) -> None:
        """Record the remaining evaluations."""
        self.ended()
        for (name, _), evaluation in self._last.items():
            self._tell(name, evaluation)
        self._last.clear()

    def _view(self, source: Source) -> View | None:
        data = None if source.data is None else source.data()
        if data is None or source.data is None:
            return None
        known = self._views.get(id(data))
        if known is None or known[0]() is not data:
            known = self._views[id(data)] = (source.data, self._look_below(data))
            self._sweep()
        return known[1]

    def _sweep(self) -> None:
        """Forget data that are gone: a script may recreate them for every epoch or rollout."""
        if len(self._views) + len(self._below) < self._many:
            return
        self._views = {key: view for key, view in self._views.items() if view[0]() is not None}
        self._below = {key: rows for key, rows in self._below.items() if rows.alive()}
        self._many = 2 * (len(self._views) + len(self._below)) + FEW

    def _look_below(self, data: Any) -> View | None:
        tools, maps = self._torch.utils.data, []
        while type(data) is tools.Subset:
            maps.append(data.indices)
            data = data.dataset
        if type(data) is tools.TensorDataset:
            tensor = data.tensors[0]
            if tensor.dim() == 0 or tensor.stride(0) <= 0:
                return None
            storage = tensor.untyped_storage()
            key = (storage._cdata, tensor.stride(0))
            below = self._rows(key, lambda: _Storage(storage))
            return View(below, tuple(maps), tensor.storage_offset() // tensor.stride(0))
        try:
            reference = weakref.ref(data)
        except TypeError:  # a list
            return None
        return View(self._rows(id(data), lambda: lambda: reference() is not None), tuple(maps), 0)

    def _rows(self, key: Any, alive: Callable[[], Callable[[], bool]]) -> Rows:
        known = self._below.get(key)
        if known is None or not known.alive():
            known = self._below[key] = Rows(alive())
        return known


def _are_rows(ids: list[Any]) -> bool:
    return bool(ids) and hasattr(ids[0], "__index__")


class _Storage:
    """A tensor's memory, weakly referenced: its address is not reused while this lives."""

    def __init__(self, storage: Any) -> None:
        self._key = storage._weak_ref()
        self._free, self._expired = type(storage)._free_weak_ref, type(storage)._expired

    def __call__(self) -> bool:
        return not self._expired(self._key)

    def __del__(self) -> None:
        self._free(self._key)
