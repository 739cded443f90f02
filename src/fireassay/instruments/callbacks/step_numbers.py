"""What does the tracker that is already there get of a training's steps while it runs?  Medians since it was last told.

Their names begin with `assay_provisional/`: one rank of one launch, with its warm-up, without an interval.  What may be quoted is the verdict of
the sealed record, which `assay export --to TRACKER` sends.
In a launch by assay the numbers are those of the record, from hooks.  Elsewhere nothing is put into torch, and the framework's events know
less: a step lasts from the end of the one before to its own end, the wait is everything before its batch arrives, and there is no communication.
Cannot tell: other ranks; on a GPU without hooks, when kernels end.  Standard library only: it runs in workers.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from fireassay.instruments import attach
from fireassay.instruments.recorder import singleton

PREFIX: Final = "assay_provisional/"
MOST: Final = 10_000  # steps between two logs; older ones are dropped
NS: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Step:
    """One step of this rank, in nanoseconds; None: not known here."""

    step_ns: int
    wait_ns: int | None = None
    exposed_ns: int | None = None
    items: float | None = None


class StepNumbers:
    """Collects steps, from the recorder's rows or from a framework's events."""

    def __init__(self, now: Callable[[], int] = time.monotonic_ns) -> None:
        self._now = now
        self._steps: deque[Step] = deque(maxlen=MOST)
        self._ended: int | None = None  # the step before; None: what follows is no whole step
        self._arrived: int | None = None
        recorder = singleton.recorder()
        self._hooked = recorder is not None
        if recorder is not None:
            recorder.rows.also(self._row)

    def _row(self, row: tuple[Any, ...]) -> None:
        """A row of the table `steps`, in the thread that writes."""
        begin, end, data, pause, exposed, items = (row[place] for place in (4, 5, 6, 10, 11, 12))
        self._steps.append(Step(end - begin - (pause or 0), data, exposed, items))

    def arrived(self) -> None:
        """The first batch of a step is there."""
        if self._arrived is None:
            self._arrived = self._now()

    def ended(self, items: float | None = None) -> None:
        """A step has ended: its optimizer has stepped."""
        now, before, arrived = self._now(), self._ended, self._arrived
        self._ended, self._arrived = now, None
        if before is not None and not self._hooked:
            self._steps.append(Step(now - before, None if arrived is None else arrived - before, None, items))

    def paused(self) -> None:
        """An evaluation or a checkpoint: the step under way is not counted."""
        self._ended = self._arrived = None

    def take(self, trackers: Iterable[Any] = ()) -> dict[str, float]:
        """The numbers since the last call, by name; none if no step ended. Never raises: the training goes on without them.

        `trackers`: what the framework logs with; a launch by assay records their runs.
        """
        try:
            if (hooks := attach.current()) is not None:
                hooks.read()
            taken = [self._steps.popleft() for _ in range(len(self._steps))]
            if taken and (recorder := singleton.recorder()) is not None:
                recorder.note_trackers(trackers)
            return {f"{PREFIX}{name}": value for name, value in _numbers(taken).items()}
        except Exception as error:
            print(f"assay: the tracker gets no step numbers: {type(error).__name__}: {error}", file=sys.stderr)
            return {}


def _numbers(steps: list[Step]) -> dict[str, float]:
    """name -> value, of what every step knows."""
    if not steps:
        return {}
    found = {"steps": float(len(steps)), "step_time_s": _median(step.step_ns for step in steps) * NS}
    for name, values in (("data_wait_s", [s.wait_ns for s in steps]), ("exposed_communication_s", [s.exposed_ns for s in steps])):
        if known := [value for value in values if value is not None]:
            found[name] = _median(known) * NS
    items, total = [step.items for step in steps if step.items is not None], sum(step.step_ns for step in steps)
    if len(items) == len(steps) and total > 0:
        found["items_per_s_of_this_rank"] = sum(items) / (total * NS)
    return found


def _median(values: Iterable[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
