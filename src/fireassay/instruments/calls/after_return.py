"""Does work go on after a function has returned?  By the processor time of other threads and of child processes.

    others = other threads by their own clocks + threads that have ended + reaped children + living descendants

Threads and children that were busy before the first call do not count: they belong to no call.  A pool that spins for a moment after it has
finished (OpenBLAS, OpenMP) is no work either.  Its threads run no Python, so a Python thread that works after three of at most six calls is
enough; of everything else the amount must grow with the number of calls, which spinning does not: the smallest after each of six times
eight calls must be twice the largest after one. On a busy machine how long a pool spins is a matter of chance, and of what else runs at
that moment, so ones and eights take turns: six of equal kind are above twelve others once in 18,564 times, and twice as high more rarely.
What waits for a processor is not quiet: a machine that is busy with other work may give it none for a while.
Cannot tell: work on other machines or in the kernel, in a daemon that left the process, or that waits without using a processor; work
that many calls do together once.  Linux only: the clocks of single threads are read by their ids (clock_gettime(2), and the kernel's
include/linux/posix-timers.h for how an id makes a clock).
"""

from __future__ import annotations

import os
import resource
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

SLICE_S = 0.005
QUIET_SLICES = 4
QUIET_SHARE = 0.1  # of a slice
LIMIT_S = 2.0  # longest wait for quiet
BASELINE_S = 0.03
LOOKS = 3  # of which the one counts whose clocks were read closest together
BUSY_NS = 500_000  # of processor time in the baseline: busy before the first call
LEAST_NS = 1_000_000  # of processor time after the return that is examined
LEAST_SHARE = 0.1  # of the time of the calls, likewise
TURNS = 3  # calls whose Python threads go on, of at most `PAIRS`
PAIRS, GROWTH = 6, 2.0  # less than eightfold: some of the work may be done before the last call returns
FAST_S, SLOW_S = 0.1, 1.0  # of a call: how many more calls may be made to examine it
SPINS = {"OMP_WAIT_POLICY": "active", "KMP_BLOCKTIME": "infinite"}  # pools that never rest, by request


@dataclass(frozen=True)
class Followed:
    """The processor time after the return of calls."""

    ns: int
    python_ns: int  # of it, in Python threads
    quiet: bool  # it ended within the limit


@dataclass(frozen=True)
class Conclusion:
    """What follows one call: seconds of processor time, and the time in which it returned."""

    state: str  # quiet, follows, unfinished, unexamined
    processor_s: float = 0.0
    returned_s: float = 0.0


@dataclass(frozen=True)
class Look:
    """The clocks of this process and its children at one moment, in nanoseconds.

    No two clocks are read at the same time, and this thread may lose the processor in between. So the process's is read before and after
    the threads': what threads used that have ended lies between the two differences.
    """

    threads: dict[int, int]  # living ones, the caller's included
    ended_least: int
    ended_most: int
    children: int

    def exact(self) -> int:
        """How far the two differences are apart."""
        return self.ended_most - self.ended_least


class Others:
    """Processor time of everything in this process but the calling thread, and of its children."""

    def __init__(self) -> None:
        self._busy: frozenset[int] = frozenset()  # threads
        self._children: frozenset[int] = frozenset()  # busy ones
        self._exclude_the_busy()

    def _exclude_the_busy(self) -> None:
        me = threading.get_native_id()
        threads = {thread: _thread_ns(thread) for thread in _numbers("/proc/self/task") if thread != me}
        children = {child: _process_ns(child) for child in _descendants(os.getpid())}
        time.sleep(BASELINE_S)
        self._busy = frozenset(thread for thread, before in threads.items() if (_thread_ns(thread) or 0) - (before or 0) > BUSY_NS)
        self._children = frozenset(child for child, before in children.items() if (_process_ns(child) or 0) - (before or 0) > BUSY_NS)

    def look(self) -> Look:
        """Read all clocks."""
        before = time.process_time_ns()
        threads = {thread: ns for thread in _numbers("/proc/self/task") if (ns := _thread_ns(thread)) is not None}
        after = time.process_time_ns()
        reaped = resource.getrusage(resource.RUSAGE_CHILDREN)
        living = sum(_process_ns(child) or 0 for child in _descendants(os.getpid()) if child not in self._children)
        children = living + round((reaped.ru_utime + reaped.ru_stime) * 1e9)
        every = sum(threads.values())
        return Look(threads, before - every, after - every, children)

    def follow(self, limit_s: float = LIMIT_S) -> Followed:
        """Wait until nothing works any more; the processor time until then.

        A thread that ended before its clock was read counts as Python: the threads of a native pool live on.
        """
        first = min((self.look() for _ in range(LOOKS)), key=Look.exact)
        latest, python, used = dict(first.threads), self._python_threads(), (0, 0)
        deadline, still = time.monotonic() + limit_s, 0
        while still < QUIET_SLICES and time.monotonic() < deadline:
            time.sleep(SLICE_S)
            now = self.look()
            python |= self._python_threads()
            latest |= now.threads
            before, used = used, self._used(first, latest, now, python)
            still = still + 1 if used[0] - before[0] < QUIET_SHARE * SLICE_S * 1e9 and not self._waits() else 0
        return Followed(*used, still >= QUIET_SLICES)

    def _used(self, first: Look, latest: dict[int, int], now: Look, python: set[int]) -> tuple[int, int]:
        """Nanoseconds since the first look; and of them in Python threads, no more than is certain."""
        mine = {threading.get_native_id(), *self._busy}
        threads = {thread: max(0, ns - first.threads.get(thread, 0)) for thread, ns in latest.items() if thread not in mine}
        unseen = max(0, now.ended_least - first.ended_most - sum(ns for thread, ns in latest.items() if thread not in now.threads))
        in_python = unseen + sum(ns for thread, ns in threads.items() if thread in python)
        return unseen + sum(threads.values()) + max(0, now.children - first.children), in_python

    def _waits(self) -> bool:
        """True if a thread or child that was not busy before waits for a processor, or has one."""
        threads = set(_numbers("/proc/self/task")) - {threading.get_native_id(), *self._busy}
        others = [f"/proc/self/task/{thread}" for thread in threads]
        tasks = [
            f"/proc/{child}/task/{thread}"
            for child in _descendants(os.getpid()) - self._children
            for thread in _numbers(f"/proc/{child}/task")
        ]
        return any(_state(task) == "R" for task in (*others, *tasks))

    def _python_threads(self) -> set[int]:
        """Other threads that run Python, without those that were busy before."""
        every = {thread.native_id for thread in threading.enumerate() if thread.native_id is not None}
        return every - {threading.get_native_id(), *self._busy}


def observer() -> Others | None:
    """None where threads have no clocks of their own, or pools are to spin for ever."""
    spins = any(os.environ.get(name, "").lower() == value for name, value in SPINS.items())
    return None if spins or sys.platform != "linux" or _thread_ns(threading.get_native_id()) is None else Others()


def worth_examining(followed: Followed, trial_s: float) -> bool:
    """True if the processor time after a trial is not negligible against its time."""
    return followed.ns > max(LEAST_NS, LEAST_SHARE * trial_s * 1e9)


def examine(others: Others, call: Callable[[int], float], call_s: float) -> Conclusion:
    """Does the processor time after the return grow with the number of calls?

    Args:
        others: made before the first call.
        call: makes so many calls and returns their seconds.
        call_s: seconds of a call.
    """
    if call_s > SLOW_S:
        return Conclusion("unexamined", returned_s=call_s)
    seconds: list[float] = []
    ones: list[Followed] = []

    def up_to(turns: int) -> None:
        while len(ones) < turns:
            seconds.append(call(1))
            ones.append(others.follow())

    up_to(TURNS)
    returned_s, one_s = median(seconds), median(one.ns for one in ones) / 1e9
    if not any(one.quiet for one in ones):
        return Conclusion("unfinished", one_s, returned_s)
    if _with_python(ones, returned_s) < TURNS:
        up_to(PAIRS)  # on a busy machine the work may end before the caller comes back
    if _with_python(ones, returned_s) >= TURNS:
        return Conclusion("follows", median(one.ns for one in ones) / 1e9, returned_s)
    return _of_several(others, call, 8 if call_s <= FAST_S else 4, ones, returned_s)


def _with_python(ones: Sequence[Followed], returned_s: float) -> int:
    """After how many calls Python threads went on."""
    return sum(worth_examining(replace(one, ns=one.python_ns), returned_s) for one in ones)


def _of_several(others: Others, call: Callable[[int], float], many: int, ones: list[Followed], returned_s: float) -> Conclusion:
    """Does more follow several calls than one?"""
    several = []
    for _ in range(PAIRS):
        call(many)
        several.append(others.follow(LIMIT_S + 2.0 * many * max(one.ns for one in ones) / 1e9).ns)
        call(1)
        ones.append(others.follow())
        if min(several) <= max(LEAST_NS, GROWTH * max(one.ns for one in ones)):
            return Conclusion("quiet", returned_s=returned_s)
    return Conclusion("follows", median(several) / many / 1e9, returned_s)


# ---- clocks of the kernel ----


def _thread_ns(thread: int) -> int | None:
    with suppress(OSError):
        return time.clock_gettime_ns((~thread << 3) | 6)  # CPUCLOCK_SCHED, one thread
    return None


def _process_ns(process: int) -> int | None:
    with suppress(OSError):
        return time.clock_gettime_ns((~process << 3) | 2)  # CPUCLOCK_SCHED, all threads
    return None


def _state(task: str) -> str:
    """A thread's state, as proc(5) has it: R runs or waits for a processor; "" if it has ended."""
    with suppress(OSError):
        return Path(f"{task}/stat").read_text(errors="replace").rpartition(") ")[2][:1]
    return ""


def _numbers(folder: str) -> Iterable[int]:
    with suppress(OSError):
        return [int(name) for name in os.listdir(folder) if name.isdigit()]
    return ()


def _descendants(process: int) -> set[int]:
    """The living processes below this one, of which the kernel says so (CONFIG_PROC_CHILDREN)."""
    found: set[int] = set()
    for thread in _numbers(f"/proc/{process}/task"):
        with suppress(OSError):
            for child in map(int, Path(f"/proc/{process}/task/{thread}/children").read_text().split()):
                found |= {child, *_descendants(child)}
    return found
