"""Was an evaluated sample used in training before?

Samples are rows of the data below a loader's data set (`instruments/hooks/data_below`). An evaluation is a batch that was passed to a
module in evaluation mode, without gradients, and not trained on before the next was requested. A new optimizer starts a new training
(cross-validation).

Cannot tell: data sets that hold copies of the same samples; data below any other wrapper or below a list; samples that another rank
was trained on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from fireassay.steps.events import Batch, Source

MAX_ROWS: Final = 1 << 24  # one byte each
FEW: Final = 16  # data sets
KEPT: Final = 512  # batches whose rows are marked together
EVERY_PASS: Final = 4  # recorded each; later ones at powers of two, and the last


@dataclass(slots=True, eq=False)
class Rows:
    """The data below one or more data sets, and which of its rows were trained on."""

    trained: bytearray = field(default_factory=bytearray)
    pending: list[tuple[Any, list[int]]] = field(default_factory=list)
    views: dict[int, bool] = field(default_factory=dict)  # data sets that were trained on
    whole: dict[int, Source | None] = field(
        default_factory=dict
    )  # their first source trained on to its end: later ones have the same samples

    def note(self) -> None:
        """Mark the rows that were trained on."""
        pending, self.pending = self.pending, []
        for view, ids in pending:
            rows = [row for row in view.rows(ids) if row < MAX_ROWS]
            if rows and max(rows) >= len(self.trained):
                self.trained.extend(bytes(max(rows) + 1 - len(self.trained)))
            for row in rows:
                self.trained[row] = 1


@dataclass(slots=True)
class Evaluation:
    """One iteration over held-out data."""

    samples: int = 0
    trained_on: int = 0
    same: bool = False  # uses the training's data set


class Overlap:
    """How training and evaluations use the data of this process."""

    def __init__(self, record: Callable[[str, Evaluation], None]) -> None:
        self._record = record
        self.below: dict[int, Rows] = {}
        self._alive: dict[int, Callable[[], bool]] = {}
        self._many = FEW  # number at which dead ones are removed
        self.under_way: dict[Source, Evaluation] = {}
        self._passes: dict[tuple[str, bool], int] = {}
        self._last: dict[tuple[str, bool], Evaluation] = {}  # not recorded yet

    def trained(self, batch: Batch, ids: list[int]) -> None:
        """A step trains on these samples of a batch."""
        source = batch.source
        if source is None or source.view is None or not _are_rows(ids):
            return
        view, rows = source.view, self._rows(source.view)
        whole = rows.whole.get(view.number)
        if whole is not None and whole is not source:
            return
        rows.views[view.number] = True
        rows.whole[view.number] = source if source.ended else None
        rows.pending.append((view, ids))
        if len(rows.pending) >= KEPT:
            rows.note()

    def evaluated(self, batches: Iterable[Batch]) -> None:
        """These batches were evaluated, not trained on."""
        for batch in batches:
            if batch.evaluated and batch.ids is not None and batch.source is not None:
                self._evaluate(batch.source, batch.ids)

    def _evaluate(self, source: Source, ids: list[int]) -> None:
        view = source.view
        if view is None or not _are_rows(ids):
            return
        below = self._rows(view)
        below.note()
        trained, evaluation = below.trained, self.under_way.setdefault(source, Evaluation())
        rows = view.rows(ids)
        evaluation.samples += len(rows)
        evaluation.trained_on += sum(row < len(trained) and trained[row] for row in rows)
        evaluation.same = below.views.get(view.number, False)

    def ended(self) -> None:
        """Training continues, or the process ends."""
        for source, evaluation in self.under_way.items():
            key = (source.name, evaluation.same)
            number = self._passes[key] = self._passes.get(key, 0) + 1
            if number <= EVERY_PASS or not number & (number - 1):
                self._record(source.name, evaluation)
                self._last.pop(key, None)
            else:
                self._last[key] = evaluation
        self.under_way.clear()

    def begins_anew(self) -> None:
        """A new optimizer: later training may be of another model."""
        self.below.clear()
        self._alive.clear()

    def close(self) -> None:
        """Record the remaining evaluations."""
        self.ended()
        for (name, _), evaluation in self._last.items():
            self._record(name, evaluation)
        self._last.clear()

    def _rows(self, view: Any) -> Rows:
        known = self.below.get(view.below)
        if known is None:
            if len(self.below) >= self._many:  # a script may recreate data for every epoch or rollout
                self.below = {key: rows for key, rows in self.below.items() if self._alive[key]()}
                self._alive = {key: self._alive[key] for key in self.below}
                self._many = 2 * len(self.below) + FEW
            known = self.below[view.below] = Rows()
            self._alive[view.below] = view.alive
        return known


def _are_rows(ids: list[Any]) -> bool:
    return bool(ids) and hasattr(ids[0], "__index__")
