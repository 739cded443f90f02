"""How busy were a client process and its host during the load?  A saturated client measures itself.

Shares over the load so far: of one processor by this process, of all processors by everything (/proc/stat without idle and iowait).
"""

from __future__ import annotations

import os
import time

from fireassay.record.machine import Machine, Unread, cpu_ticks


class HostUse:
    """Readings from its creation on."""

    def __init__(self) -> None:
        self._begin_ns, self._own_s, self._host = time.monotonic_ns(), time.process_time(), _ticks()

    def report(self) -> dict[str, float | int]:
        """Shares and the number of processors; without a share that cannot be read."""
        seconds = (time.monotonic_ns() - self._begin_ns) / 1e9
        report: dict[str, float | int] = {
            "processors": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        }
        if seconds > 0.0:
            report["cpu_share"] = round((time.process_time() - self._own_s) / seconds, 4)
        now = _ticks()
        if now is not None and self._host is not None and now[1] > self._host[1]:
            report["host_busy"] = round((now[0] - self._host[0]) / (now[1] - self._host[1]), 4)
        return report


def _ticks() -> tuple[int, int] | None:
    """Busy and all ticks of the host's processors since its start."""
    try:
        ticks = cpu_ticks(Machine())
    except (Unread, ValueError):
        return None
    every = sum(ticks.values())
    return every - ticks["idle"] - ticks["iowait"], every
