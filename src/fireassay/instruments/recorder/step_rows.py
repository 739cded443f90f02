"""Which rows do the steps of a script without marks give?"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from fireassay.steps.events import NOT_WATCHED
from fireassay.steps.overlap import Evaluation
from fireassay.steps.reading import Times

UNWATCHED = "unwatched"  # in the table `communication`: this step's was not timed


class StepRows:
    """Writes what `fireassay.steps` finds in the events."""

    def __init__(
        self, key: tuple[int, int, int], host: str, append: Callable[[str, tuple[Any, ...]], None], loss: Callable[[int, Any], None]
    ) -> None:
        """`loss` records a step's loss that may still be computed."""
        self._key, self._host, self._append, self._loss = key, host, append, loss
        self.gpu_times: dict[int, tuple[Times, str]] | None = None  # of steps whose phases a GPU times, until both parts are known
        self._untimed: dict[int, tuple[Any, ...]] = {}

    def also(self, observe: Callable[[tuple[Any, ...]], None]) -> None:
        """Show every further row of the table `steps` to `observe` too."""
        append = self._append

        def both(table: str, row: tuple[Any, ...]) -> None:
            append(table, row)
            if table == "steps":
                observe(row)

        self._append = both

    def step(
        self, step: int, begin: int, end: int, data: int | None, times: Times, pause: int | None, exposed: int | None, items: float | None
    ) -> None:
        """A step."""
        if exposed == NOT_WATCHED:
            exposed = None
            self._append("communication", (*self._key, step, UNWATCHED, None, None, None, None))
        if self.gpu_times is None:
            self._append("steps", (*self._key, step, begin, end, data, *times, pause, exposed, items, "monotonic"))
            return
        self._untimed[step] = (step, begin, end, data, pause, exposed, items)
        if step in self.gpu_times:
            self.timed(step, *self.gpu_times.pop(step))

    def timed(self, step: int, times: Times, method: str) -> None:
        """A GPU's times of a step's phases."""
        assert self.gpu_times is not None
        row = self._untimed.pop(step, None)
        if row is None:
            self.gpu_times[step] = (times, method)
        else:
            self._append("steps", (*self._key, *row[:4], *times, *row[4:], method))

    def loss(self, step: int, loss: Any) -> None:
        """The loss of a step: a number, or a tensor."""
        if type(loss) is float:
            self._append("fingerprints", (*self._key, step, "loss", loss, None))
        else:
            self._loss(step, loss)

    def samples(self, epoch: int, step: int, ids: list[int]) -> None:
        """Samples that a step was trained on."""
        self._append("samples", (*self._key, epoch, step, ids))

    def contents(self, what: str, step: int, contents: str) -> None:
        """Digests of what a step was trained on."""
        self._append("fingerprints", (*self._key, step, what, None, contents))

    def number(self, what: str, step: int, value: float) -> None:
        """A number about a step."""
        self._append("fingerprints", (*self._key, step, what, value, None))

    def dataset(self, step: int, size: int) -> None:
        """The size of the data set in the ledger."""
        self._append("fingerprints", (*self._key, step, "dataset_size", float(size), None))

    def evaluation(self, step: int, begin: int, ns: int) -> None:
        """An evaluation within a step."""
        self._event("evaluation", step, begin, ns)

    def evaluated(self, now: int, step: int, data: str, evaluation: Evaluation) -> None:
        """How many evaluated samples were trained on."""
        detail = {"data": data, "samples": evaluation.samples, "training_data": evaluation.same}
        self._event("evaluated_samples", step, now, None, float(evaluation.trained_on), detail)

    def unknown_samples(self, now: int, step: int, reason: str) -> None:
        """The samples of this launch are unknown."""
        self._event("samples_unknown", step, now, None, None, {"reason": reason})

    def _event(self, kind: str, step: int, begin: int, ns: int | None, value: float | None = None, detail: Any = None) -> None:
        launch, rank, incarnation = self._key
        self._append("events", (launch, begin, ns, self._host, rank, incarnation, kind, step, value, json.dumps(detail or {})))

    def close(self) -> None:
        """Write the steps whose GPU times never came."""
        for row in self._untimed.values():
            self._append("steps", (*self._key, *row[:4], None, None, None, *row[4:], "cuda_event"))
        self._untimed = {}
