"""Did several clients send together what one would have sent?

A sum of digests over the requests that were sent: of number, due time in the schedule, path and body. It does not depend on who sent which,
so the clients' sums add up to the sum of one client; the runner makes the same requests again and compares. Of a large load every n-th
request is digested. Left out are later turns, whose text holds the server's answers, and a model in the client's process, which gets no body.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from fireassay.traffic.arrivals.schedule import NONE

if TYPE_CHECKING:
    from fireassay.traffic.arrivals.schedule import Schedule
    from fireassay.traffic.parts import Wire

DIGESTED: Final = 10_000  # requests of a launch, at most
BITS: Final = 128


class SentDigest:
    """The sum over requests of one schedule."""

    def __init__(self, schedule: Schedule) -> None:
        self._every = -(-len(schedule) // DIGESTED) or 1
        self._turn, self._due = memoryview(schedule.turn), memoryview(schedule.due_ns)  # type: ignore[arg-type]
        self.requests = self.total = 0

    def takes(self, number: int) -> bool:
        """True if a request is among those that are digested."""
        return number % self._every == 0 and self._turn[number] <= 0

    def add(self, number: int, due_ns: int, wire: Wire | None) -> None:
        """Add a request that was sent. `due_ns`: since the load's begin; only where the schedule says when."""
        if wire is None or not self.takes(number):
            return
        due = due_ns if self._due[number] != NONE else NONE
        digest = blake2b(f"{number} {due} {wire.method} {wire.path}\n".encode() + wire.body, digest_size=BITS // 8)
        self.total = (self.total + int.from_bytes(digest.digest(), "big")) % (1 << BITS)
        self.requests += 1

    def report(self) -> dict[str, Any]:
        """As it is recorded."""
        return {"requests": self.requests, "sum": f"{self.total:0{BITS // 4}x}"}


def added(reports: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The sum of several clients."""
    listed = list(reports)
    total = sum(int(report["sum"], 16) for report in listed) % (1 << BITS)
    return {"requests": sum(report["requests"] for report in listed), "sum": f"{total:0{BITS // 4}x}"}
