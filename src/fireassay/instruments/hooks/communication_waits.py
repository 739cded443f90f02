"""How long does communication occupy a rank's main thread in each phase?

Phases of different ranks are comparable only without this time: if ranks wait for each other, the fast one's backward pass lasts as
long as the slow one's. Both parts are durations on one host and need no other host's clock.
* asking: inside the calls that request a collective, comm hooks included. A rank that is late here (a compressing hook, a library
  that holds a lock) is itself the cause.
* waiting: inside `Work.wait`, in DDP's buffer broadcast, and from the last gradient to the end of the backward pass, whatever runs
  there, once a collective was recorded.
Nested calls count as part of the outer one; a wait inside a call counts as waiting. Only the main thread is measured.
Cannot tell: waiting for another rank from waiting for the transfer; where a GPU computes, anything about waiting.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable

BETWEEN = "between"


class Waits:
    """Times of the current step, by phase."""

    def __init__(self, now: Callable[[], int] = time.monotonic_ns, phase: Callable[[], str | None] = lambda: BETWEEN) -> None:
        self._now, self._phase = now, phase  # phase None: counted elsewhere, or not training
        self.asked_ns: defaultdict[str, int] = defaultdict(int)
        self.waited_ns: defaultdict[str, int] = defaultdict(int)
        self._depth = self._since = self._inside = 0
        self._where: str | None = None
        self._main = threading.main_thread().ident

    def begin_request(self, now: int | None = None) -> None:
        """A request for a collective begins, from the script or on its behalf."""
        if threading.get_ident() != self._main:
            return
        self._depth += 1
        if self._depth == 1:
            self._since, self._inside, self._where = now or self._now(), 0, self._phase()

    def end_request(self, now: int | None = None) -> None:
        """The request has returned."""
        if threading.get_ident() != self._main:
            return
        self._depth -= 1
        if self._depth == 0 and self._where is not None:
            self.asked_ns[self._where] += (now or self._now()) - self._since - self._inside

    @property
    def nested(self) -> bool:
        """True if a request is in progress."""
        return self._depth > 0

    def add_request(self, phase: str, ns: int) -> None:
        """Add a request that was not nested and did not wait."""
        self.asked_ns[phase] += ns

    def waited(self, ns: int) -> None:
        """Add time during which the main thread was blocked."""
        if self._depth:
            self._inside += ns
        phase = self._phase()
        if phase is not None:
            self.waited_ns[phase] += ns

    def ended(self, phase: str, ns: int) -> None:
        """Count the whole tail of a phase as waiting."""
        self.waited_ns[phase] += ns

    def at_most(self, waited_ns: int) -> None:
        """Cap the waiting between this step's phases: the excess came later."""
        if BETWEEN in self.waited_ns:
            self.waited_ns[BETWEEN] = min(self.waited_ns[BETWEEN], waited_ns)

    def taken(self) -> list[tuple[str, int, int]]:
        """(phase, asking, waiting) of the step that ends."""
        asking, waiting = self.both()
        return [(phase, asking[phase], waiting[phase]) for phase in {**asking, **waiting}]

    def both(self) -> tuple[defaultdict[str, int], defaultdict[str, int]]:
        """(asking, waiting) of the step that ends, by phase."""
        sums = self.asked_ns, self.waited_ns
        self.asked_ns, self.waited_ns = defaultdict(int), defaultdict(int)
        return sums
