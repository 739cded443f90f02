"""Which requests had become due when their client process was killed?  One number per request, in a file mapped into memory.

What a process writes into a mapped file stays there when it dies by SIGKILL, and costs it a store and nothing else: so of
every request that became due there is its due time, also where its row was still in the process's memory.
The last number says why the process could not write its rows any more: an errno, on a disk that is too full to say it otherwise.
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

WIDTH = 8  # bytes of a number


def name(client: int) -> str:
    """The file of a client process, in the load's folder."""
    return f"due-{client}.i64"


def opened(path: Path, requests: int) -> memoryview:
    """A place for each request's due time and one more, absolute monotonic ns, 0: not due yet.  Shape [requests + 1].

    Where the disk has no room for it the numbers are kept in memory alone.
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
    """Take the room now: a page for which a full disk has no room would end the process when it is first written."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
        return
    left = size
    while left:
        left -= os.write(descriptor, bytes(min(left, 1 << 20)))


def read(path: Path, requests: int) -> npt.NDArray[np.int64] | None:
    """What a client process has noted, shape [requests + 1]; None if it kept no such file."""
    import numpy as np

    try:
        found = np.fromfile(path, dtype=np.int64)
    except OSError:
        return None
    return found if len(found) == requests + 1 else None


def trouble(path: Path) -> int:
    """Why a client process could not write its rows: an errno; 0 if it could, or did not say."""
    try:
        with path.open("rb") as file:
            file.seek(-WIDTH, os.SEEK_END)
            return int.from_bytes(file.read(WIDTH), "little")
    except OSError:
        return 0
