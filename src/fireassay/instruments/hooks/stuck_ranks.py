"""In which collective or phase is a rank, and at which line, if a step does not end?

Noted by the writing thread, because the script's own thread is blocked in the engine and may never return. One event per place.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import Any, Final

KIND: Final = "step_pending"  # of the event
STUCK_NS: Final = 3_000_000_000
MAX_NOTES: Final = 32  # of one process: long steps are no deadlock
MAX_FRAMES: Final = 16
LIBRARY: Final = ("site-packages", "dist-packages", f"{os.sep}lib{os.sep}python3", "<frozen")
OWN: Final = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # assay's hooks are in between


class StuckRank:
    """Notes where the current step stays."""

    def __init__(self, attached: Any) -> None:
        """`attached`: the hooks' state (`steps.Attached`)."""
        self._attached, self._notes = attached, 0
        self._last: tuple[Any, ...] = ()

    def note(self) -> None:
        """Called before every flush."""
        attached, recorder = self._attached, self._attached.recorder
        now = attached.now()
        since = now - recorder.begin_ns
        if not attached.begun or not recorder.active or since < STUCK_NS or self._notes >= MAX_NOTES:
            return
        calls = [call for call in attached.calls.pending if call.end is None]
        place: tuple[Any, ...] = (recorder.step_number, attached.inside, *((call.group, call.number) for call in calls))
        if place != self._last:
            self._last, self._notes = place, self._notes + 1
            pending = [{"op": call.op, "bytes": call.nbytes, "group": call.group, "call": call.number} for call in calls]
            detail = {"inside": attached.inside, "calls": pending, "stack": main_stack(), "state": main_state()}
            recorder.event(KIND, now, since, step=recorder.step_number, detail=detail)


def main_stack() -> list[str]:
    """The main thread's calls, innermost first, as "train.py:41 (main)"; those of libraries are left out."""
    thread = threading.main_thread().ident
    frame = sys._current_frames().get(thread) if thread is not None else None
    lines: list[str] = []
    while frame is not None and len(lines) < MAX_FRAMES:
        file = frame.f_code.co_filename
        if not file.startswith(OWN) and not any(part in file for part in LIBRARY):
            lines.append(f"{os.path.basename(file)}:{frame.f_lineno} ({frame.f_code.co_name})")
        frame = frame.f_back
    return lines


def main_state() -> str:
    """The kernel's word for the main thread: R runs or wants to, S waits; "" where there is no /proc."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""
