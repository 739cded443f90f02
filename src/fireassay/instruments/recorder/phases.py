"""Where did a step's time go?

Exclusive times of the marked phases: a phase inside another takes its time away from the outer one, so phases never add up to more
than the step. During a pause (checkpoint, evaluation) the phases' clock stops, and phases marked inside it are ignored. A phase that
was never marked is null, never 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

FORWARD: Final = 0
BACKWARD: Final = 1
OPTIMIZER: Final = 2
NAMES: Final = ("forward", "backward", "optimizer")

Times = tuple[int | None, int | None, int | None]  # nanoseconds, in the order of NAMES
Emit = Callable[[tuple[Any, ...], Times, str], None]  # (fields of the step, times of its phases, method)


class Phase:
    """`with probe.phase("forward"):` One object per name, reused in every step: marking allocates nothing."""

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
    """Phases timed by the host's monotonic clock: correct if a call's work is done when it returns."""

    method = "monotonic"

    def __init__(self, now: Callable[[], int], emit: Emit) -> None:
        self.now = now
        self.mark = 0  # when the innermost open phase last started
        self.paused = 0  # depth of nested pauses
        self.stack: list[int] = []  # open phases, innermost last
        self.ns = [0, 0, 0]
        self.seen = [False, False, False]
        self.named = {name: Phase(self, index) for index, name in enumerate(NAMES)}
        self._emit = emit

    def pause(self) -> None:
        """Stop the phases' clock until `resume`."""
        if not self.paused and self.stack:
            self.ns[self.stack[-1]] += self.now() - self.mark
        self.paused += 1

    def resume(self) -> None:
        """The outermost pause ended."""
        self.paused -= 1
        if not self.paused:
            self.mark = self.now()

    def add(self, index: int, ns: int) -> None:
        """Add time of a phase that was measured elsewhere."""
        self.ns[index] += ns
        self.seen[index] = True

    def finish(self, fields: tuple[Any, ...]) -> None:
        """End the step and emit its times."""
        (forward, backward, optimizer), (has_forward, has_backward, has_optimizer) = self.ns, self.seen
        times = (forward if has_forward else None, backward if has_backward else None, optimizer if has_optimizer else None)
        self._emit(fields, times, self.method)

    def clear(self) -> None:
        """Start a new step."""
        self.ns[:] = (0, 0, 0)
        self.seen[:] = (False, False, False)
        if self.stack:
            self.stack.clear()
