"""What did the trials of a timed function wait for?"""

from __future__ import annotations

from typing import Any, Final

from fireassay.frames.record_data import RecordData
from fireassay.frames.waiting import synchronised
from fireassay.metrics.metric import Results
from fireassay.verdict.conditions.condition import Condition
from fireassay.verdict.conditions.declare import identity


def waited_for(measured: RecordData, _: Results) -> Any:
    """The kinds of devices that every trial waited for; None if it cannot be known."""
    if not measured.kind.times_calls or measured.foreign is not None:
        return None
    return ", ".join(sorted({name.partition(":")[0] for name in synchronised(measured)})) or "the return"


CONDITIONS: Final[tuple[Condition, ...]] = (
    identity(
        "calls.waited_for",
        "a function that only queues its work returns sooner than one that is waited for",
        waited_for,
        "table telemetry, counter synchronise",
        absent="note",
        about=("calls",),
    ),
)
