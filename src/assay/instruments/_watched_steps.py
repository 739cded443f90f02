"""In which steps is the communication of a DistributedDataParallel watched?  In all at first, then in one of `EVERY`.

Timing a collective that the reducer requests takes two calls of Python and a callback, several of them 1 to 5 % of a step on a CPU.  Once
`ALIKE` watched steps in a row have moved the same bytes, steps that are ordinary (`_ordinary.py`) are watched in one of `EVERY` only; in the
others the reducer has the engine's own group, and the step says in the record that nobody watched it (`communication`, method unwatched).
Which one of `EVERY` follows from the step's number alone: it is the same on every rank, and of no period that a script may have.
A step that moves other bytes brings all steps back: averaging every eighth step (local SGD) is never sampled.

The group changes between two steps only, never inside of a pass: the reducer holds a lock there.
From step `FIRST` on calls are numbered anew in each step, on every rank, so that equal numbers are the same call whoever watched the steps before.
Source: torch 2.13, `Reducer::update_process_group`; without it (before torch 2.3) every step is watched.
"""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from assay.instruments._groups import Call, Calls

FIRST: Final = 32  # steps that are watched anyway
ALIKE: Final = 16
EVERY: Final = 8
SMALL: Final = 64  # bytes: a loss or a count that is averaged now and then changes nothing
UNWATCHED: Final = "unwatched"  # of the table `communication`


_AT: Final = tuple(byte % EVERY for byte in hashlib.shake_256().digest(1024))


def chosen(step: int) -> bool:
    """Whether this is the step of its `EVERY` that is watched."""
    return step % EVERY == _AT[step // EVERY % len(_AT)]


class WatchedSteps:
    """Gives reducers the timed group or the engine's own."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._groups: list[
            tuple[Callable[[], Any], Any, Any]
        ] = []  # model, weakly; the timed group and the engine's own
        self._bytes, self._alike = -1, 0
        self.sampled = False  # a step was not watched

    def add(self, model: Any, timed: Any) -> None:
        """The reducer of this model was given a timed group."""
        if hasattr(model.reducer, "_update_process_group"):
            self._groups.append((weakref.ref(model), timed, timed._inner))

    def seen(self, calls: Iterable[Call]) -> None:
        """What a watched step communicated."""
        moved = sum(call.nbytes for call in calls if call.nbytes > SMALL)
        self._alike = self._alike + 1 if moved == self._bytes else 0
        self._bytes = moved

    def begins(self, step: int, *, ordinary: bool) -> None:
        """A step begins, inside of no pass."""
        if not self._groups or step < FIRST:
            return
        self._calls.number_from(step << 20)
        unwatched = ordinary and self._alike >= ALIKE and self._bytes > 0 and not chosen(step)
        if unwatched is not self._calls.unwatched:
            self._give(timed=not unwatched)

    def _give(self, *, timed: bool) -> None:
        known = [(model, *groups) for there, *groups in self._groups if (model := there()) is not None]
        if any(model.process_group is not own for model, _, own in known):  # the script has given it another one
            self._groups = []
            timed = True
        for model, ours, own in known:
            if model.process_group is own:
                model.reducer._update_process_group(ours if timed else own)
        self._calls.unwatched = not timed
        self.sampled = self.sampled or not timed
