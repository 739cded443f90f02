"""Is the machine itself as fast as it was?  A fixed piece of work, timed by the coordinator while no launch runs.

The work is a loop of additions and multiplications on numbers that Python holds already: no memory is taken, no file is
read, no other thread is asked.  How many rounds make up the wanted time is found once per experiment and kept in the
manifest (`sentinel`), so that every later reading, also after a resume, times the same work (methodology 1c).
A single slow reading is a disturbance at that moment; a slow rise is heat or somebody else's load.  It sees one processor
and its caches; it cannot see a slow disk, a slow network or a slow GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import repeat
from typing import Final

from assay.clock import Clock
from assay.instruments.machine.reading import Reading
from assay.units import NS_PER_S

CHUNK: Final = 20_000  # rounds; about a millisecond
CALIBRATIONS: Final = 5  # the fastest of them counts: a disturbed one would make the work too short


def work(rounds: int) -> float:
    """Whole numbers below 256, which Python keeps ready, and floats, which take the place of the one before."""
    whole, real = 1, 1.0
    for _ in repeat(None, rounds):
        whole = (whole + 7) & 127
        real = real * 0.999 + 0.5
    return whole + real


@dataclass(frozen=True)
class Sentinel:
    """A fixed number of rounds, timed whenever it is asked."""

    rounds: int
    clock: Clock
    work: Callable[[int], object] = work

    def read(self, counter: str) -> Reading:
        """The seconds that the work takes now; `counter` is before or after."""
        begin = self.clock.now_ns()
        self.work(self.rounds)
        return Reading("sentinel", counter, (self.clock.now_ns() - begin) / NS_PER_S, "s", "self")


def calibrated(seconds: float, clock: Clock, do: Callable[[int], object] = work) -> Sentinel:
    """A sentinel that takes about `seconds` on this machine when nothing disturbs it; at least one chunk of work."""
    fastest = min(_chunk_ns(clock, do) for _ in range(CALIBRATIONS))
    chunks = round(seconds * NS_PER_S / fastest) if fastest > 0 else 1
    return Sentinel(rounds=CHUNK * max(1, chunks), clock=clock, work=do)


def _chunk_ns(clock: Clock, do: Callable[[int], object]) -> int:
    begin = clock.now_ns()
    do(CHUNK)
    return clock.now_ns() - begin
