"""How long is a limit of wall time on a busy machine?

The clock of a run goes slower by the number of runnable threads for each processor that this process may use (`/proc/loadavg`, sampled at each
turn): with four busy threads for each processor it needs four times as long.
Cannot tell: a hypervisor's steal, nor a share of a control group; `MOST` covers what no count shows.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

SLOWEST: Final = 64.0  # times


class StretchedClock:
    """Seconds since the start, as many as the machine would have needed if it were idle."""

    def __init__(self) -> None:
        self._last_s = time.monotonic()
        self._slow = slowness()
        self.seconds = 0.0
        self.wall_s = 0.0

    def read(self) -> float:
        """Add what passed since the last reading."""
        now_s, slow = time.monotonic(), slowness()
        passed_s = now_s - self._last_s
        self.seconds += passed_s / max(slow, self._slow)
        self.wall_s += passed_s
        self._last_s, self._slow = now_s, slow
        return self.seconds


def slowness(file: Path = Path("/proc/loadavg")) -> float:
    """Runnable threads for each processor, at least 1."""
    try:
        first, _, _, entities, _ = file.read_text().split()
        runnable = max(float(first), float(entities.partition("/")[0]) - 1.0)  # without the reader
    except (OSError, ValueError):
        return 1.0
    return min(SLOWEST, max(1.0, runnable / len(os.sched_getaffinity(0))))
