"""In which collective or phase is a rank, if a step does not end?

Noted by the writing thread, because the script's own thread is blocked in the engine and may never return. One event per place.
"""

from __future__ import annotations

from typing import Any, Final

KIND: Final = "step_pending"  # of the event
STUCK_NS: Final = 3_000_000_000
MAX_NOTES: Final = 32  # of one process: long steps are no deadlock


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
            detail = {"inside": attached.inside, "calls": pending}
            recorder.event(KIND, now, since, step=recorder.step_number, detail=detail)
