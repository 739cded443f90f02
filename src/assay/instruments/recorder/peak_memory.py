"""How much memory did this process need at most?  Asked once, at its end: the system and torch keep the maximum themselves.

Host: the most resident memory (VmHWM of proc(5); `ru_maxrss` is inherited from whoever started the process, so it is only asked where
there is no /proc).  Device: the most bytes that torch's caching allocator had in use, and had reserved of the device, of the devices
that this process used; without torch.cuda, or where it was never started, nothing is said.
Cannot tell: memory of helper processes of a loader; of a device, what the driver, NCCL and other libraries took beside torch.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HOST = "memory_peak"
ALLOCATED = "memory_allocated_peak"
RESERVED = "memory_reserved_peak"


def peaks(torch: Any, status: Path = Path("/proc/self/status")) -> Iterator[tuple[str, str, int]]:
    """(device, counter, bytes): of the host, and of every device that was used. `torch`: None if it was never imported."""
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


def resident_peak(status: Path = Path("/proc/self/status")) -> int | None:
    """The most resident memory of this process, bytes; None where the system does not tell."""
    try:
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    except (OSError, ValueError, StopIteration, IndexError):
        return _of_usage()


def _of_usage() -> int | None:
    try:
        import resource
    except ImportError:
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(most) * (1 if sys.platform == "darwin" else 1024)
