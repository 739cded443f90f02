"""Does a timed function's work go on after it has returned?"""

from __future__ import annotations

from collections.abc import Iterator

from fireassay.estimates.format import count, reading
from fireassay.frames.record_data import RecordData
from fireassay.frames.waiting import following, not_waited_for
from fireassay.units import SECONDS
from fireassay.verdict.evidence.affected import most
from fireassay.verdict.types import Finding

UNFINISHED = ("work_after_return", "device_not_waited_for")
WAIT = "let the function wait for its own work (a future's result, a thread's or pool's join) before it returns"
EARLIER = "wait for all devices (device='auto'), and let a warm-up trial use each of them, or name it: fireassay.time(..., device='cuda')"


def unfinished_calls(measured: RecordData) -> Iterator[Finding]:
    """Findings on calls that returned before their work had ended."""
    seen = following(measured)
    if seen is not None and seen.affected and most(seen.affected, seen.examined):
        returned, processor = reading(seen.returned_s, SECONDS), reading(seen.processor_s, SECONDS)
        went_on = (
            f"{processor} of processor time followed" if seen.ends else f"other threads still worked after {processor} of processor time"
        )
        evidence = (
            f"a call returned after {returned}; {went_on} in other threads or child processes, which is not in the time "
            f"({seen.affected} of {count(seen.examined, 'launches')})"
        )
        yield Finding("work_after_return", "warning", None, evidence, WAIT)
    devices, launches = not_waited_for(measured)
    if devices:
        requested = measured.experiment.timing.device
        why = "it came into use after the warm-up" if requested == "auto" else f"timing.device is {requested!r}"
        evidence = f"no trial waited for {', '.join(devices)} ({why}), in {count(launches, 'launches')}: work that it had queued is not in the time"
        yield Finding("device_not_waited_for", "warning", None, evidence, EARLIER)


def blind_to_calls(measured: RecordData) -> str | None:
    """Why nobody could see work after a return; None if it was examined."""
    if following(measured) is not None:
        return None
    if measured.foreign is not None:
        return "another program timed the calls, and its file does not say what it waited for"
    if measured.experiment.workload.runner == "command":
        return "a command was timed until its process ended; daemons that it left behind are not seen"
    return (
        "no launch could be observed, since a call takes longer than a second, pools were set to spin for ever, "
        "or this system does not give the processor time of a thread"
    )
