"""Where do a probe's rows go, and who writes them?

Inside a launch: to this rank's stream files and its progress file. During calibration: to a list that is discarded.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol


@dataclass(frozen=True, kw_only=True)
class Identity:
    """Identifies this worker and launch."""

    launch: int
    rank: int
    workers: int
    incarnation: int
    seed: int
    host: str


class Sink(Protocol):
    """Takes rows of the record's tables, in column order, and the live progress."""

    def append(self, table: str, row: tuple[Any, ...]) -> None:
        """Take one row."""
        ...

    def step(self, steps: int, now_ns: int) -> None:
        """Report the number of steps finished."""
        ...

    def checkpoint(self, steps: int) -> None:
        """Report a checkpoint saved after so many steps."""
        ...

    def saving(self, begun: bool) -> None:
        """Report that saving a checkpoint begins or ends."""
        ...

    def flush(self) -> None:
        """Write the rows taken so far."""
        ...

    def before_flush(self, deliver: Callable[[], None]) -> None:
        """Register a callback to run before each flush, in any thread, since rows may be held back."""
        ...

    def flush_cpu_ns(self) -> int | None:
        """CPU time of writing outside the training thread; None if unknown."""
        ...

    def close(self) -> None:
        """Write the remaining rows."""
        ...


class LaunchSink:
    """Writes the launch's folder with `record/writer.py` and `record/live/progress.py`."""

    def __init__(self, folder: Path, identity: Identity, *, flush_s: float) -> None:
        from fireassay.record.live.progress import ProgressWriter, node_of
        from fireassay.record.writer import StreamWriter

        rank, incarnation, pid = identity.rank, identity.incarnation, os.getpid()
        node = node_of(os.environ.get("FIREASSAY_MARK", ""))
        progress = ProgressWriter(folder / "progress" / f"rank={rank}.bin", pid=pid, incarnation=incarnation, node=node)
        before = set(threading.enumerate())
        name = f"rank={rank}.inc={incarnation}.pid={pid}"
        self._writer = StreamWriter(folder, name, flush_s=flush_s, on_error=progress.error)
        self._clocks = tuple(filter(None, map(_cpu_clock, set(threading.enumerate()) - before)))
        self.append, self.flush = self._writer.append, self._writer.flush
        self.before_flush = self._writer.before_writing
        self.step = progress.step
        self.checkpoint = progress.checkpoint
        self.saving = progress.saving

    def flush_cpu_ns(self) -> int | None:
        """CPU time of the flushing thread."""
        try:
            return sum(time.clock_gettime_ns(clock) for clock in self._clocks) if self._clocks else None
        except OSError:  # the thread has ended
            return None

    def close(self) -> None:
        """Write the remaining rows."""
        self._writer.close()


@dataclass
class MemorySink:
    """Keeps rows in memory: for calibration and for tests."""

    rows: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)
    steps: int = 0
    checkpoints: int = 0
    closed: bool = False
    held_back: list[Callable[[], None]] = field(default_factory=list)

    def append(self, table: str, row: tuple[Any, ...]) -> None:
        """Take one row."""
        self.rows.append((table, row))

    def step(self, steps: int, now_ns: int) -> None:
        """Report the number of steps finished."""
        self.steps = steps

    def checkpoint(self, steps: int) -> None:
        """Report a saved checkpoint."""
        self.checkpoints += 1

    def saving(self, begun: bool) -> None:
        """Ignored in memory."""

    def before_flush(self, deliver: Callable[[], None]) -> None:
        """Register a callback."""
        self.held_back.append(deliver)

    def flush(self) -> None:
        """Ask for the rows held back; all stay in memory."""
        for deliver in self.held_back:
            deliver()

    def flush_cpu_ns(self) -> int | None:
        """Nothing is flushed."""
        return None

    def close(self) -> None:
        """No further row is expected."""
        self.closed = True

    def of(self, table: str) -> list[tuple[Any, ...]]:
        """The rows of one table."""
        self.flush()
        return [row for name, row in self.rows if name == table]


def identity_from(environ: Mapping[str, str]) -> Identity:
    """This worker's identity from the variables of torchrun and assay's launchers; rank 0 of 1 without them.

    Raises:
        ValueError: a variable is not an integer.
    """

    def number(name: str, default: int) -> int:
        return int(environ.get(name) or default)

    return Identity(
        launch=number("FIREASSAY_LAUNCH", 0),
        rank=number("RANK", 0),
        workers=number("WORLD_SIZE", 1),
        incarnation=number("TORCHELASTIC_RESTART_COUNT", 0) if (meeting := _meeting(environ)) is None else nth_meeting(*meeting),
        seed=number("FIREASSAY_SEED", 0),
        host=environ.get("FIREASSAY_HOST") or socket.gethostname(),
    )


def _meeting(environ: Mapping[str, str]) -> tuple[Path, str] | None:
    """Where workers of several nodes meet, if they may be restarted: torchrun's count is each node's own, and grows only where a worker failed."""
    several = 0 < int(environ.get("LOCAL_WORLD_SIZE") or 0) < int(environ.get("WORLD_SIZE") or 1)
    folder, port = environ.get("FIREASSAY_LAUNCH_DIR"), environ.get("MASTER_PORT")
    if not (several and folder and port and environ.get("FIREASSAY_RESTARTS") == "1"):
        return None
    return Path(folder) / "meetings", f"{environ.get('MASTER_ADDR')}:{port}"


def nth_meeting(folder: Path, place: str) -> int:
    """The number of a rendezvous, from 0: every one has a port of its own. The first worker of each writes it down, in a file that appears whole."""
    folder.mkdir(parents=True, exist_ok=True)
    own = folder / f".{os.getpid()}.{os.urandom(4).hex()}"
    own.write_text(place)
    try:
        for number in range(10_000):
            named = folder / str(number)
            try:
                os.link(own, named)
                return number
            except FileExistsError:
                if named.read_text() == place:
                    return number
    finally:
        own.unlink()
    raise ValueError(f"{folder} is full")


def process_start_ns() -> int | None:
    """The start of this process on the monotonic clock, to 10 ms; None if the system does not report it.

    Source: proc(5), field 22 of /proc/self/stat: clock ticks since boot, suspended time included (CLOCK_BOOTTIME).
    """
    try:
        after_name = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        started = int(after_name[19]) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
        return time.monotonic_ns() - (time.clock_gettime_ns(time.CLOCK_BOOTTIME) - started)
    except (OSError, ValueError, IndexError, AttributeError):
        return None


def _cpu_clock(thread: threading.Thread) -> int | None:
    if thread.ident is None or not hasattr(time, "pthread_getcpuclockid"):
        return None
    return time.pthread_getcpuclockid(thread.ident)
