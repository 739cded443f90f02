"""Is the machine itself as fast as before?

A fixed piece of work, timed by the coordinator while no launch runs: a loop of additions and multiplications on numbers that Python
caches, without allocations, file access or other threads. The number of rounds is calibrated once per experiment and kept in
the manifest (`sentinel`), so that every later reading, also after a resume, times the same work.
A single slow reading is a momentary disturbance; a gradual rise is heat or foreign load. It covers one CPU and its caches, not a slow
disk, network or GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import repeat
from typing import Final

from fireassay.clock import Clock
from fireassay.instruments.machine.reading import Reading
from fireassay.units import NS_PER_S

CHUNK: Final = 20_000  # rounds; about a millisecond
CALIBRATIONS: Final = 5  # the fastest counts: a disturbed one would make the work too short


def work(rounds: int) -> float:
    """Integers below 256, which Python caches, and floats, which reuse the previous one's memory."""
    whole, real = 1, 1.0
    for _ in repeat(None, rounds):
        whole = (whole + 7) & 127
        real = real * 0.999 + 0.5
    return whole + real


@dataclass(frozen=True)
class Sentinel:
    """A fixed number of rounds, timed on demand."""

    rounds: int
    clock: Clock
    work: Callable[[int], object] = work

    def read(self, counter: str) -> Reading:
        """The seconds that the work takes now; `counter` is before or after."""
        begin = self.clock.now_ns()
        self.work(self.rounds)
        return Reading("sentinel", counter, (self.clock.now_ns() - begin) / NS_PER_S, "s", "self")


def calibrated(seconds: float, clock: Clock, do: Callable[[int], object] = work) -> Sentinel:
    """A sentinel that takes about `seconds` on this machine when undisturbed; at least one chunk of work."""
    fastest = min(_chunk_ns(clock, do) for _ in range(CALIBRATIONS))
    chunks = round(seconds * NS_PER_S / fastest) if fastest > 0 else 1
    return Sentinel(rounds=CHUNK * max(1, chunks), clock=clock, work=do)


def _chunk_ns(clock: Clock, do: Callable[[int], object]) -> int:
    begin = clock.now_ns()
    do(CHUNK)
    return clock.now_ns() - begin
