"""What do the hooks themselves cost a step?

The first steps and then one in `EACH` are timed, all alike, whatever a step consists of; once only some steps are watched, each watched
one is timed too. A time is from a hook's first line to torch, and from torch to its last line, with the step's share of reading its
events, by the processor time of the thread, so that other programs do not count; the writing thread's since the first step is added at
the end. The mean of a kind's times, without the longest twentieth: the median left out what is done many steps at once.

Cannot tell: the frames around the hooks, and what torch itself loses because the hooks evict its code and data from the caches.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final

EACH: Final = 16
KEPT: Final = 1024


class OwnCost:
    """Times of unwatched and of watched steps, and how many of each kind there were."""

    def __init__(self) -> None:
        self.times: tuple[deque[int], deque[int]] = (deque(maxlen=KEPT), deque(maxlen=KEPT))
        self.steps = [0, 0]
        self.reading_ns = 0  # a step's share of the time to read its events
        self._counted = self._read = 0  # the steps before this one were counted; read
        self._written_ns = 0  # before the first step

    def begin(self, written_ns: int) -> None:
        """The first step begins: what was written before is not its cost."""
        self._written_ns = written_ns

    def renumber(self, steps: int) -> None:
        """The current step's number is larger by so many, after a restart."""
        self._counted += steps
        self._read += steps

    def count(self, step: int, *, watched: bool) -> None:
        """The steps before this one have ended; those not counted yet are of this kind."""
        self.steps[watched] += step - self._counted
        self._counted = step

    def read(self, step: int, ns: int) -> None:
        """The events of the steps before this one were read, in this time."""
        self.reading_ns, self._read = ns // max(1, step - self._read), step

    def next_timed(self, step: int, *, watched: bool) -> bool:
        """True if the step that begins is timed."""
        return step < EACH or not step % EACH or (watched and self.steps[False] > 0)

    def per_step(self, written_ns: int) -> tuple[float, int]:
        """(nanoseconds of a step, number of steps): of both kinds by their share, and of writing."""
        kinds = [(_trimmed_mean(times), max(count, len(times))) for times, count in zip(self.times, self.steps, strict=True) if times]
        steps = sum(count for _, count in kinds)
        written = max(0, written_ns - self._written_ns)
        return (sum(ns * count for ns, count in kinds) + written) / steps, steps


def _trimmed_mean(times: Iterable[int]) -> float:
    ordered = sorted(times)
    kept = ordered[: len(ordered) - len(ordered) // 20]
    return sum(kept) / len(kept)
