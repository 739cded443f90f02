"""How far are the workers, and which have ended?  Reads their progress files and holds a pidfd on each.

A pidfd becomes readable the moment the process ends, zombie or not (pidfd_open(2), Linux 5.3).  Without pidfds,
psutil is polled.
"""

from __future__ import annotations

import os
import select
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fireassay.record.progress import Progress, read_progress

RATE_WINDOW_NS = 5_000_000_000


@dataclass(frozen=True, kw_only=True)
class Worker:
    """One process of one rank."""

    rank: int
    incarnation: int
    pid: int


class Watch:
    """The workers of one launch."""

    def __init__(self, folder: Path, workers: int, here: Callable[[int], bool] = lambda _: True) -> None:
        """`here`: whether a process runs on this machine; the end of a remote one cannot be observed."""
        self._here = here
        self.ranks: dict[int, Progress] = {}  # as last read
        self._files = [folder / "progress" / f"rank={rank}.bin" for rank in range(workers)]
        self._alive: dict[Worker, int | None] = {}  # -> pidfd
        self._seen: set[Worker] = set()
        self._history: deque[tuple[int, int]] = deque()

    @property
    def incarnation(self) -> int:
        """The highest incarnation: how often the launcher restarted the workers."""
        return max((worker.incarnation for worker in self._seen), default=0)

    @property
    def steps(self) -> int:
        """Steps finished by every rank that has reported."""
        return min((rank.steps for rank in self.ranks.values()), default=0)

    def look(self) -> None:
        """Read the progress of all ranks and register new processes."""
        for rank, file in enumerate(self._files):
            progress = read_progress(file)
            if progress is None:
                continue
            self.ranks[rank] = progress
            worker = Worker(rank=rank, incarnation=progress.incarnation, pid=progress.pid)
            if worker not in self._seen:
                self._seen.add(worker)
                if self._here(worker.pid):
                    self._alive[worker] = _pidfd(worker.pid)

    def vanished(self) -> list[Worker]:
        """The workers that have ended since the last call."""
        gone = [worker for worker, pidfd in self._alive.items() if _has_ended(worker.pid, pidfd)]
        for worker in gone:
            _close(self._alive.pop(worker))
        return gone

    def steps_per_s(self, now_ns: int) -> float | None:
        """The rate over the last seconds; None before two steps, and after a restart."""
        if self._history and self.steps < self._history[-1][1]:
            self._history.clear()
        if self.steps == 0:
            return None  # the time before the first step is start-up
        if not self._history or self.steps != self._history[-1][1]:
            self._history.append((now_ns, self.steps))
        while len(self._history) > 2 and now_ns - self._history[0][0] > RATE_WINDOW_NS:
            self._history.popleft()
        (first_ns, first), (last_ns, last) = self._history[0], self._history[-1]
        return (last - first) / (last_ns - first_ns) * 1e9 if last_ns > first_ns else None

    def close(self) -> None:
        """Close all pidfds."""
        for pidfd in self._alive.values():
            _close(pidfd)
        self._alive = {}


def _pidfd(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except (OSError, AttributeError):
        return None


def _has_ended(pid: int, pidfd: int | None) -> bool:
    if pidfd is not None:
        poll = select.poll()
        poll.register(pidfd, select.POLLIN)
        return bool(poll.poll(0))
    import psutil

    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def _close(pidfd: int | None) -> None:
    if pidfd is not None:
        os.close(pidfd)
