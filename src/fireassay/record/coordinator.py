"""Is the process that writes a record still alive, and how is a second writer kept out?

A process is identified by its pid and creation time (pids are reused), its host, and the kernel's boot id, which suffice on the
same host.  In another container of the same kernel pids mean nothing; there the coordinator's lock on
`streams/coordinator.lock` decides, which the kernel releases when the process ends.  A coordinator on another machine is
invisible and counts as running.
"""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# Creation times depend on the wall clock, which may be stepped by a second or so.
_CLOCK_STEP_S = 2.0
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_HELD: dict[Path, int] = {}  # file descriptors of this process's locks, by record


def myself() -> dict[str, Any]:
    """This process, as the manifest identifies it."""
    import psutil

    return {"pid": os.getpid(), "create_time": psutil.Process().create_time(), "host": socket.gethostname(), "boot_id": _boot_id()}


def is_alive(coordinator: Mapping[str, Any], record: Path) -> bool:
    """True if the coordinator of a record still runs; true if this cannot be determined."""
    if coordinator["host"] == socket.gethostname():
        return _is_running(int(coordinator["pid"]), float(coordinator["create_time"]))
    if coordinator.get("boot_id") and coordinator["boot_id"] == _boot_id():
        return _is_locked(_lock_file(record))
    return True


def hold(record: Path) -> bool:
    """Take the record's lock for this process; false if another process holds it."""
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
        pass  # this file system has no locks: the pid must suffice
    _HELD[key] = descriptor
    return True


def release(record: Path) -> None:
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
        # neither a link nor a pipe that would block: the record is untrusted
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
