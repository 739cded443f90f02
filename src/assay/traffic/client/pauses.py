"""How does a process that stamps keep from pausing, where what else it does could make it wait?

    the interpreter     a second thread gives Python's lock back after 0.05 ms at most, not after 5
    the processor       parsing gives way to the thread that sends and stamps, and to a server on the same machine
    memory              what was freed is kept for what comes next: fresh pages cost up to milliseconds on a virtual machine

Nothing here is needed for a right result, and where a system lacks a call nothing happens.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from contextlib import suppress
from typing import Final

SWITCH_S: Final = 5e-5
NICE: Final = 5  # of a thread that only parses: a quarter of a processor is left to it where all are busy
KEPT_BYTES: Final = 256 << 20  # freed memory that is not given back to the system; what was never used is never held
_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_LARGEST_MMAP_THRESHOLD: Final = 32 << 20  # that glibc takes


def steady() -> None:
    """For the whole process, before it begins its work."""
    import pyarrow as pa

    sys.setswitchinterval(SWITCH_S)
    with suppress(AttributeError, OSError, TypeError):  # mallopt(3) is glibc's
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES)
        libc.mallopt(_M_MMAP_THRESHOLD, _LARGEST_MMAP_THRESHOLD)
    pa.set_memory_pool(pa.system_memory_pool())


def give_way() -> None:
    """Let this thread come after those that something waits for. Where a thread has no priority of its own, nothing happens."""
    if sys.platform.startswith("linux"):
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
