"""Which request is due next?

Iterates over a client's part of the schedule in time.  Requests with their own time come in its order; the others are due after their
predecessor has ended plus a pause (`fireassay.traffic.arrivals.schedule` defines predecessors).  Nothing becomes due at or after the end of
the load.

Which requests had become due when their client process was killed?

One number per request in a memory-mapped file: writes to it survive SIGKILL and cost only a store.  So every request's due time is on
disk, even if its row was still in the process's memory.  The last number is the errno that stopped the process from writing its rows,
in case the disk is too full to report it in another way.

How long does a stream back off after 429 or 503, and when is a target given up as dead?

The stream's next request waits for `Retry-After` (seconds or a date, RFC 9110, 10.2.3), at most `most_s`; without it, for twice as
long after each consecutive refusal, starting at `first_s`.  Any other answer resets the count.  Requests with their own due time (open loop)
are sent when due regardless, since the load would otherwise change.

A target is dead once no replica has sent anything for `dead_after_s` while requests were refused.
"""

from __future__ import annotations

import heapq
import mmap
import os
from array import array
from collections.abc import Iterable
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fireassay.traffic.arrivals.schedule import NONE, PHASES, Schedule

if TYPE_CHECKING:
    import numpy.typing as npt

WIDTH = 8  # bytes per number


def name(client: int) -> str:
    """A client process's file in the load's folder."""
    return f"due-{client}.i64"


def opened(path: Path, requests: int) -> memoryview:
    """Due time of each request, plus one slot; absolute monotonic ns, 0: not due yet.  Shape [requests + 1].

    Falls back to plain memory where the disk has no room.
    """
    size = (requests + 1) * WIDTH
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
    except OSError:
        return memoryview(array("q", bytes(size)))
    try:
        _allocate(descriptor, size)
        return memoryview(mmap.mmap(descriptor, size)).cast("q")
    except OSError:
        os.ftruncate(descriptor, 0)
        return memoryview(array("q", bytes(size)))
    finally:
        os.close(descriptor)


def _allocate(descriptor: int, size: int) -> None:
    """Allocate blocks now: on a full disk, the first write to an unallocated page would kill the process."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
        return
    remaining = size
    while remaining:
        remaining -= os.write(descriptor, bytes(min(remaining, 1 << 20)))


def read(path: Path, requests: int) -> npt.NDArray[np.int64] | None:
    """A client process's journal, shape [requests + 1]; None without a file."""
    import numpy as np

    try:
        due_ns = np.fromfile(path, dtype=np.int64)
    except OSError:
        return None
    return due_ns if len(due_ns) == requests + 1 else None


def trouble(path: Path) -> int:
    """The errno that stopped a client process from writing its rows; 0 if none was recorded."""
    try:
        with path.open("rb") as file:
            file.seek(-WIDTH, os.SEEK_END)
            return int.from_bytes(file.read(WIDTH), "little")
    except OSError:
        return 0


if TYPE_CHECKING:
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]

NEVER: Final = 1 << 62  # later than any time
_BLOCK = 4096  # requests whose numbers are held as Python objects
_COLD: Final = PHASES.index("cold")


class Agenda:
    """The due queue. Times are absolute from `begin` on; before that, only cold requests are known."""

    def __init__(self, schedule: Schedule, mine: Ints, predecessors: Ints) -> None:
        cold = schedule.phase[mine] == _COLD
        self.cold: list[int] = mine[cold].tolist()
        load = mine[~cold]
        due = schedule.due_ns[load]
        timed = load[due >= 0]
        order = np.argsort(schedule.due_ns[timed], kind="stable")
        self._timed, self._due = timed[order], schedule.due_ns[timed][order]
        self._pause = memoryview(schedule.pause_ns)  # type: ignore[arg-type]
        self._next: Any = np.zeros(0, dtype=np.int64)
        self._others: dict[int, list[int]] = {}
        self._link(load[due < 0], predecessors)
        self._later_turn = _later_turns(schedule)
        self._together = schedule.together
        self._first = int((schedule.phase == _COLD).sum())
        self._groups: dict[int, int] = {}  # per query: requests that have ended
        self._last = len(schedule) - 1
        self._block = self._at = 0
        self._numbers: list[int] = []
        self._dues: list[int] = []
        self._later: list[tuple[int, int]] = []  # a heap of (due, number)
        self._t0 = self.end_ns = NEVER
        self.next_ns = NEVER  # due time of the next request

    def _link(self, following: Ints, predecessors: Ints) -> None:
        """Store each request's followers: one in an array, further ones in a dictionary."""
        if not len(following):
            return
        before = predecessors[following]
        following, before = following[before >= 0], before[before >= 0]
        links = np.full(len(predecessors), NONE, dtype=np.int64)
        links[before[::-1]] = following[::-1]  # the first of several
        self._next = memoryview(links)  # type: ignore[arg-type]  # items are Python ints, unlike the array's
        if int(np.count_nonzero(links != NONE)) == len(before):
            return
        for number, follower in zip(before.tolist(), following.tolist(), strict=True):
            if links[number] != follower:
                self._others.setdefault(number, []).append(follower)

    # -- queue

    def begin(self, t0_ns: int, end_ns: int) -> None:
        """Start the load at `t0_ns`; nothing becomes due at or after `end_ns`."""
        self._t0, self.end_ns = t0_ns, end_ns
        self._refill()

    def first(self, most: int) -> list[int]:
        """The first due requests, at most `most`, for preparation."""
        numbers: list[int] = self._timed[:most].tolist()
        return numbers

    def at_once(self) -> int:
        """Number of requests due immediately at the start."""
        return int(np.searchsorted(self._due, 0, side="right"))

    def ahead(self, most: int) -> list[int]:
        """The next due requests with their own time, at most `most`."""
        return self._numbers[self._at : self._at + most]

    def pop(self, now_ns: int) -> tuple[int, int] | None:
        """A request due by now, with its due time; None if there is none."""
        if self.next_ns > now_ns:
            return None
        if self._later and (self._at >= len(self._dues) or self._later[0][0] <= self._dues[self._at]):
            due, number = heapq.heappop(self._later)
        else:
            due, number = self._dues[self._at], self._numbers[self._at]
            self._at += 1
            if self._at >= len(self._dues):
                self._refill()
        self._find_next()
        return number, due

    def followers(self, number: int) -> Iterable[int]:
        """The followers of a request that has ended; for a query, once all its requests have."""
        if self._together:
            group = (number - self._first) // self._together
            finished = self._groups.get(group, 0) + 1
            size = min(self._together, self._last + 1 - self._first - group * self._together)
            if finished < size:
                self._groups[group] = finished
                return ()
            self._groups.pop(group, None)
            number = self._first + group * self._together + size - 1
        follower: int = self._next[number] if len(self._next) else NONE
        if follower < 0:
            return ()
        return (follower, *self._others.pop(number, ())) if self._others else (follower,)

    def next_of(self, number: int) -> int:
        """A follower of this request, or -1; for a query, one of the next query."""
        if not len(self._next):
            return NONE
        if self._together and number >= self._first:
            size = self._together
            number = min(self._last, self._first + (number - self._first) // size * size + size - 1)
        return int(self._next[number])

    def sole_follower(self, number: int) -> int:
        """The only follower of this request, if it depends on nothing else; otherwise -1."""
        if self._together or number in self._others:
            return NONE
        return self.next_of(number)

    def has_later_turn(self, number: int) -> bool:
        """True if its session continues after this request."""
        return bool(self._later_turn[number])

    def after(self, number: int, ended_ns: int) -> int:
        """Due time of a follower."""
        pause: int = self._pause[number]
        return ended_ns + pause

    def put_off(self, number: int, due_ns: int) -> bool:
        """Queue a follower until it is due. False: the load ends first."""
        if due_ns >= self.end_ns:
            return False
        heapq.heappush(self._later, (due_ns, number))
        self._find_next()
        return True

    def stop(self) -> None:
        """Nothing becomes due any more."""
        self.end_ns = 0
        self._later.clear()
        self._numbers, self._dues, self._at = [], [], 0
        self._block = len(self._timed)
        self._find_next()

    def pending(self) -> bool:
        """True if any request will still become due at a known time."""
        return self.next_ns != NEVER

    def _refill(self) -> None:
        begin = self._block
        self._block = min(len(self._timed), begin + _BLOCK)
        due_ns = self._due[begin : self._block] + self._t0
        due_ns = due_ns[due_ns < self.end_ns]
        self._dues, self._at = due_ns.tolist(), 0
        self._numbers = self._timed[begin : begin + len(self._dues)].tolist()
        self._find_next()

    def _find_next(self) -> None:
        timed = self._dues[self._at] if self._at < len(self._dues) else NEVER
        later = self._later[0][0] if self._later else NEVER
        self.next_ns = min(timed, later)


def _later_turns(schedule: Schedule) -> Any:
    """Per request, whether its session has a later one."""
    later = np.zeros(len(schedule), dtype=np.bool_)
    if bool((schedule.session >= 0).any()):
        order = np.argsort(schedule.session, kind="stable")
        session = schedule.session[order]
        later[order[:-1]] = (session[1:] == session[:-1]) & (session[:-1] >= 0)
    return memoryview(later)  # type: ignore[arg-type]


# ---- after a refusal -------------------------------------------------------------------------------------------------


NS: Final = 1_000_000_000
LATER: Final = (429, 503)
MAX_DOUBLINGS: Final = 30


def retry_after_s(header: str, now_s: float) -> float | None:
    """Delay of a Retry-After header, in seconds or until a date; None if it is neither."""
    header = header.strip()
    if header.isascii() and header.isdigit():
        return float(header[:9])
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - now_s)
    except (ValueError, TypeError, OverflowError):
        return None


class Pauses:
    """Back-off state of a client's streams."""

    def __init__(self, first_s: float, most_s: float) -> None:
        self._first_ns, self._most_ns = round(first_s * NS), round(most_s * NS)
        self._in_a_row: dict[int, int] = {}

    def pause_ns(self, stream: int, status: int | None, retry_after: str, now_s: float) -> int:
        """How long a stream waits after an answer with this status; `now_s`: seconds since 1970."""
        if status not in LATER:
            self._in_a_row.pop(stream, None)
            return 0
        row = self._in_a_row[stream] = self._in_a_row.get(stream, 0) + 1
        requested_s = retry_after_s(retry_after, now_s) if retry_after else None
        if requested_s is not None:
            return min(self._most_ns, round(requested_s * NS))
        return min(self._most_ns, self._first_ns << min(row - 1, MAX_DOUBLINGS))


class Liveness:
    """Liveness of the target."""

    def __init__(self, dead_after_s: float | None) -> None:
        self._dead_after_ns = None if dead_after_s is None else round(dead_after_s * NS)
        self._silent_since: int | None = None
        self.refused = 0  # consecutive

    def heard(self) -> None:
        """The target sent something."""
        self._silent_since, self.refused = None, 0

    def refuse(self, now_ns: int) -> bool:
        """A request was refused, or its connection closed without a response. True: the target is dead."""
        self.refused += 1
        if self._silent_since is None:
            self._silent_since = now_ns
        return self._dead_after_ns is not None and now_ns - self._silent_since >= self._dead_after_ns
