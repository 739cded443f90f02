"""What is the peak memory of this process?

Read once, at its end: the system and torch track the maximum themselves.
Host: the peak resident memory (VmHWM of proc(5); `ru_maxrss` is inherited from the parent process, so it is only the fallback without /proc).
Device: peak bytes allocated and reserved by torch's caching allocator on each device used, and the memory of the device; absent without
torch.cuda.
Cannot tell: memory of a loader's helper processes; device memory of the driver, NCCL and other libraries.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HOST = "memory_peak"
ALLOCATED = "memory_allocated_peak"
RESERVED = "memory_reserved_peak"
TOTAL = "memory_device_total"


def peaks(torch: Any, status: Path = Path("/proc/self/status")) -> Iterator[tuple[str, str, int]]:
    """(device, counter, bytes) of the host and of every device used. `torch`: None if it was never imported."""
    host = resident_peak(status)
    if host is not None:
        yield "host", HOST, host
    cuda = getattr(torch, "cuda", None)
    if cuda is None or not cuda.is_available() or not cuda.is_initialized():
        return
    for index in range(cuda.device_count()):
        reserved = int(cuda.max_memory_reserved(index))
        if reserved:
            yield f"cuda:{index}", ALLOCATED, int(cuda.max_memory_allocated(index))
            yield f"cuda:{index}", RESERVED, reserved
            yield f"cuda:{index}", TOTAL, int(cuda.get_device_properties(index).total_memory)


def resident_peak(status: Path = Path("/proc/self/status")) -> int | None:
    """Peak resident memory of this process in bytes; None if the system does not report it."""
    try:
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    except (OSError, ValueError, StopIteration, IndexError):
        return _of_usage()


def resident_now(status: Path = Path("/proc/self/status")) -> int | None:
    """Resident memory of this process now, without that of files, in bytes; None if the system does not report it."""
    try:
        line = next(line for line in status.read_text().splitlines() if line.startswith("RssAnon:"))
        return int(line.split()[1]) * 1024
    except (OSError, ValueError, StopIteration, IndexError):
        return None


def _of_usage() -> int | None:
    try:
        import resource
    except ImportError:
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(most) * (1 if sys.platform == "darwin" else 1024)
