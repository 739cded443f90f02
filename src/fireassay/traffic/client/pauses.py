"""How are interpreter, scheduler and allocator pauses limited while timestamping?

    interpreter   the GIL switch interval is 0.05 ms instead of 5 ms
    processor     parsing yields to the thread that sends and timestamps, and to a server on the same machine
    memory        freed memory is kept for reuse: fresh pages cost up to milliseconds on a virtual machine

None of this is needed for correct results; it does nothing where a system lacks the call.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from contextlib import suppress
from typing import Final

SWITCH_S: Final = 5e-5
NICE: Final = 5  # for a thread that only parses: a quarter of a core when all are busy
KEPT_BYTES: Final = 256 << 20  # freed memory not returned to the system; unused memory is never allocated
_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_LARGEST_MMAP_THRESHOLD: Final = 32 << 20  # glibc's maximum


def steady() -> None:
    """Configure the process before it starts work."""
    import pyarrow as pa

    sys.setswitchinterval(SWITCH_S)
    with suppress(AttributeError, OSError, TypeError):  # mallopt(3) exists only in glibc
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES)
        libc.mallopt(_M_MMAP_THRESHOLD, _LARGEST_MMAP_THRESHOLD)
    pa.set_memory_pool(pa.system_memory_pool())


def give_way() -> None:
    """Lower this thread's priority; does nothing where priorities are per process."""
    if sys.platform.startswith("linux"):
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)
