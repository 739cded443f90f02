"""Which requests had become due when their client process was killed?

One number per request in a memory-mapped file: writes to it survive SIGKILL and cost only a store.  So every request's due time is on
disk, even if its row was still in the process's memory.  The last number is the errno that stopped the process from writing its rows,
in case the disk is too full to report it in another way.
"""

from __future__ import annotations

import mmap
import os
from array import array
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
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
