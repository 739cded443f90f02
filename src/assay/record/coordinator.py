"""Is the process that writes a record still alive, and how is a second one kept out?

A process is named by its number and the time at which it was created (numbers are used again), its host, and the
kernel's boot id.  On the same host that decides.  In another container of the same kernel process numbers mean nothing;
there the lock decides that the coordinator holds on `streams/coordinator.lock`, which the kernel releases with the
process.  A coordinator on another machine cannot be seen and counts as running.
"""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# The kernel tells creation times through the wall clock, which may be stepped by a second or so.
_CLOCK_STEP_S = 2.0
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_HELD: dict[Path, int] = {}  # the file descriptors of the locks of this process, by record


def myself() -> dict[str, Any]:
    """This process, as it is written into the manifest."""
    import psutil

    return {"pid": os.getpid(), "create_time": psutil.Process().create_time(), "host": socket.gethostname(), "boot_id": _boot_id()}


def is_alive(coordinator: Mapping[str, Any], record: Path) -> bool:
    """Whether the coordinator of a record still runs; true if that cannot be known."""
    if coordinator["host"] == socket.gethostname():
        return _is_running(int(coordinator["pid"]), float(coordinator["create_time"]))
    if coordinator.get("boot_id") and coordinator["boot_id"] == _boot_id():
        return _is_locked(_lock_file(record))
    return True


def hold(record: Path) -> bool:
    """Take the record's lock for this process; false if another process has it."""
    key = record.resolve()
    if key in _HELD:
        return True
    descriptor = os.open(_lock_file(record), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return False
    except OSError:
        pass  # this file system knows no locks: the process number has to do
    _HELD[key] = descriptor
    return True


def release(record: Path) -> None:
    """Give the record's lock back."""
    descriptor = _HELD.pop(record.resolve(), None)
    if descriptor is not None:
        os.close(descriptor)


def _lock_file(record: Path) -> Path:
    return record / "streams" / "coordinator.lock"


def _is_running(pid: int, created: float) -> bool:
    import psutil

    try:
        process = psutil.Process(pid)
        return bool(abs(process.create_time() - created) <= _CLOCK_STEP_S and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _is_locked(file: Path) -> bool:
    try:
        # no link, and no pipe that would be waited for: the record may be anybody's
        with open(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as opened:
            fcntl.flock(opened, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def _boot_id() -> str:
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return ""
