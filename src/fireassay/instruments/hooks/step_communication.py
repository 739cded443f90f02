"""Which rows does a step's communication give, and when are they built?

Steady steps only append their raw times; the rows of many steps are built at once, in a third of the time per step, since code and data
are cached by then. They are due after `MANY` steps and before anything else builds or writes rows: the sink requests them before every
flush, so a kill loses no more than with rows built at each step.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from fireassay.steps.evaluations import covered

if TYPE_CHECKING:
    from fireassay.instruments.hooks.collective_calls import Call
    from fireassay.instruments.recorder.recorder import Recorder

MANY: Final = 16


class StepCommunication(NamedTuple):
    """A step's communication; nanoseconds."""

    step: int
    calls: list[Call]  # complete ones
    tail: int | None  # from the last gradient to the end of the backward pass
    exposed: int | None
    asking: Mapping[str, int]  # by phase
    waiting: Mapping[str, int]
    waiting_seen: bool  # False on a GPU, whose waits are not visible


class Pending:
    """Steps whose rows are not built yet."""

    def __init__(self, recorder: Recorder, failed: Callable[[Exception], None]) -> None:
        self._recorder, self._failed = recorder, failed
        self._steps: deque[StepCommunication] = deque()

    def add(self, communication: StepCommunication) -> None:
        """Add a completed steady step."""
        self._steps.append(communication)
        if len(self._steps) >= MANY:
            self.record()

    def record(self) -> None:
        """Build the rows of all of them. Thread-safe: each step is taken once."""
        steps = self._steps
        try:
            while steps:
                write(self._recorder, steps.popleft())
        except IndexError:  # another thread has taken the last
            return
        except Exception as error:
            self._failed(error)


def write(recorder: Recorder, communication: StepCommunication) -> None:
    """Write the rows of a step; the same for steady and other steps."""
    append, key, step, tail = recorder.append, recorder.key, communication.step, communication.tail
    for call in communication.calls:
        recorder.collective(call, "", "host")
    if tail is not None:
        append("communication", (*key, step, "engine", None, tail, None, None))
    for phase in {**communication.asking, **communication.waiting}:
        waiting = communication.waiting.get(phase, 0) if communication.waiting_seen else None
        append("waits", (*key, step, phase, communication.asking.get(phase, 0), waiting))
    calls = [call for call in communication.calls if call.step is not None]
    if calls or tail is not None:
        ends = [(call.begin, call.end) for call in calls if call.end is not None]
        total = covered(ends) if len(ends) == len(calls) else None
        nbytes = sum(call.nbytes for call in calls)
        append("communication", (*key, step, "group", total, communication.exposed, None, nbytes))
