"""What does communication take of a rank's own thread, phase by phase?  Asking for it, and waiting until it is over.

Phases of different ranks are only comparable without it: where ranks wait for each other, the fast one's backward pass lasts as long
as the slow one's.  Both parts are durations on one host, so no clock of another host is needed.
* asking: inside the calls that ask for a collective, comm hooks included.  A rank that is late in there (a hook that compresses, a
  library that holds a lock) was late by itself.
* waiting: inside `Work.wait`, in DDP's sending of buffers, and from the last gradient to the end of the backward pass, whatever runs there,
  once a collective was seen.
A call inside of another is a part of it, and a wait inside of a call is a wait.  Only the main thread is looked at.
Cannot tell: of waiting, what was for another rank and what for the bytes; where a GPU computes, anything about waiting.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable

BETWEEN = "between"


class Waits:
    """Times of the step under way, by phase."""

    def __init__(self, now: Callable[[], int] = time.monotonic_ns, phase: Callable[[], str | None] = lambda: BETWEEN) -> None:
        self._now, self._phase = now, phase  # no phase: counted otherwise, or no training
        self.asked_ns: defaultdict[str, int] = defaultdict(int)
        self.waited_ns: defaultdict[str, int] = defaultdict(int)
        self._depth = self._since = self._inside = 0
        self._where: str | None = None
        self._main = threading.main_thread().ident

    def asks(self, now: int | None = None) -> None:
        """A collective is asked for, by the script or for it."""
        if threading.get_ident() != self._main:
            return
        self._depth += 1
        if self._depth == 1:
            self._since, self._inside, self._where = now or self._now(), 0, self._phase()

    def asked(self, now: int | None = None) -> None:
        """The call has come back."""
        if threading.get_ident() != self._main:
            return
        self._depth -= 1
        if self._depth == 0 and self._where is not None:
            self.asked_ns[self._where] += (now or self._now()) - self._since - self._inside

    @property
    def nested(self) -> bool:
        """Whether a call that asks is under way."""
        return self._depth > 0

    def asking(self, phase: str, ns: int) -> None:
        """A call inside of no other, which did not wait, took so long."""
        self.asked_ns[phase] += ns

    def waited(self, ns: int) -> None:
        """The main thread stood still for so long."""
        if self._depth:
            self._inside += ns
        phase = self._phase()
        if phase is not None:
            self.waited_ns[phase] += ns

    def ended(self, phase: str, ns: int) -> None:
        """A phase's end was waiting, as a whole."""
        self.waited_ns[phase] += ns

    def at_most(self, waited_ns: int) -> None:
        """Between the phases of this step it was waited for so long at most: what came later was not in it."""
        if BETWEEN in self.waited_ns:
            self.waited_ns[BETWEEN] = min(self.waited_ns[BETWEEN], waited_ns)

    def taken(self) -> list[tuple[str, int, int]]:
        """(phase, asking, waiting) of the step that ends."""
        asking, waiting = self.both()
        return [(phase, asking[phase], waiting[phase]) for phase in {**asking, **waiting}]

    def both(self) -> tuple[defaultdict[str, int], defaultdict[str, int]]:
        """Asking and waiting of the step that ends, by phase."""
        found = self.asked_ns, self.waited_ns
        self.asked_ns, self.waited_ns = defaultdict(int), defaultdict(int)
        return found
