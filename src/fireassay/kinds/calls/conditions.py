"""Which devices did the trials of a timed function wait for, and is the machine of an imported file known?"""

from __future__ import annotations

from typing import Any, Final

from fireassay.frames.record_data import RecordData
from fireassay.frames.waiting import synchronised
from fireassay.metrics.metric import Results
from fireassay.verdict.conditions import facts
from fireassay.verdict.conditions.condition import Condition
from fireassay.verdict.conditions.declare import IMPORT, identity


def waited_for(measured: RecordData, _: Results) -> Any:
    """The kinds of devices that every trial waited for; None if it cannot be known."""
    if not measured.kind.times_calls or measured.foreign is not None:
        return None
    return ", ".join(sorted({name.partition(":")[0] for name in synchronised(measured)})) or "the return"


def machine(measured: RecordData, _: Results) -> Any:
    """Whether the machine is known: two unknown ones never count as the same."""
    if not measured.kind.times_calls:
        return None
    if measured.foreign is not None and "cpu" in measured.experiment.conditions:
        return "named by conditions.cpu"
    return facts.unseen("calls")(measured, _)


CONDITIONS: Final[tuple[Condition, ...]] = (
    identity("calls.machine", "another machine gives another time", machine, IMPORT, about=("calls",)),
    identity(
        "calls.waited_for",
        "a function that only queues its work returns sooner than one that is waited for",
        waited_for,
        "table telemetry, counter synchronise",
        absent="note",
        about=("calls",),
    ),
)
