"""Where did a step's time go?  Exclusive times of the marked phases of the step under way.

Exclusive: a phase inside another one takes its time away from the outer, so that phases never add up to more than the
step.  While a pause (checkpoint, evaluation) is open, the clock of the phases stands still and phases marked inside it
are not training and are ignored.  A phase that was never marked is null, never 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

FORWARD: Final = 0
BACKWARD: Final = 1
OPTIMIZER: Final = 2
NAMES: Final = ("forward", "backward", "optimizer")

Times = tuple[int | None, ...]  # nanoseconds in the order of NAMES
Emit = Callable[[tuple[Any, ...], Times, str], None]  # (fields of the step, times of its phases, method)


class Phase:
    """`with probe.phase("forward"):` One object per name, used again in every step: marking allocates nothing."""

    __slots__ = ("_index", "_owner")

    def __init__(self, owner: HostPhases, index: int) -> None:
        self._owner = owner
        self._index = index

    def __enter__(self) -> None:
        owner = self._owner
        if owner.paused:
            return
        now = owner.now()
        if owner.stack:
            owner.ns[owner.stack[-1]] += now - owner.mark
        owner.stack.append(self._index)
        owner.seen[self._index] = True
        owner.mark = now

    def __exit__(self, *_: object) -> None:
        owner = self._owner
        if owner.paused or not owner.stack or owner.stack[-1] != self._index:
            return
        now = owner.now()
        owner.ns[owner.stack.pop()] += now - owner.mark
        owner.mark = now


class HostPhases:
    """Phases timed by the host's monotonic clock: right wherever the work is done when the call returns."""

    method = "monotonic"

    def __init__(self, now: Callable[[], int], emit: Emit) -> None:
        self.now = now
        self.mark = 0  # since when the innermost open phase has been running
        self.paused = 0  # how many pauses are open, one inside the other
        self.stack: list[int] = []  # open phases, the innermost last
        self.ns = [0, 0, 0]
        self.seen = [False, False, False]
        self.named = {name: Phase(self, index) for index, name in enumerate(NAMES)}
        self._emit = emit

    def pause(self) -> None:
        """The clock of the phases stands still until `resume`."""
        if not self.paused and self.stack:
            self.ns[self.stack[-1]] += self.now() - self.mark
        self.paused += 1

    def resume(self) -> None:
        """The outermost pause ended."""
        self.paused -= 1
        if not self.paused:
            self.mark = self.now()

    def add(self, index: int, ns: int) -> None:
        """So much of a phase was seen otherwise."""
        self.ns[index] += ns
        self.seen[index] = True

    def finish(self, fields: tuple[Any, ...]) -> None:
        """The step ended: hand its times over."""
        (forward, backward, optimizer), (one, two, three) = self.ns, self.seen
        times = (forward if one else None, backward if two else None, optimizer if three else None)
        self._emit(fields, times, self.method)

    def clear(self) -> None:
        """A new step begins."""
        self.ns[:] = (0, 0, 0)
        self.seen[:] = (False, False, False)
        if self.stack:
            self.stack.clear()
