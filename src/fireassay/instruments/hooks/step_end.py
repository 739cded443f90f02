"""Did the step end where the next pass began?

Without a data loader the answer comes only when the next optimizer steps. Optimizers that alternate form one step if each steps once (a
GAN), and one step each if one goes on alone (layers trained one after the other, a critic before its actor). So at the first pass after
an optimizer's step, the step's data so far are put aside: they become a separate step if an optimizer that has stepped steps again, and
return to the current step if another steps or a batch is requested.

Cannot tell: where ranks communicate, or on a GPU, whose times come later: there such a beginning stays in the previous step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fireassay.instruments.recorder.phases import HostPhases

if TYPE_CHECKING:
    from fireassay.instruments.hooks.batches import Pass
    from fireassay.instruments.hooks.step_state import StepState


@dataclass(slots=True)
class Part:
    """A step's data until `end`."""

    end: int
    data: int | None
    pause: int | None
    items: float | None
    batches: int
    ns: list[int]
    seen: list[bool]
    losses: list[Any]
    pauses: list[tuple[int, int]]


class Turns:
    """The part that may be a step."""

    def __init__(self, attached: StepState) -> None:
        self._attached = attached
        self._part: Part | None = None
        self._fed: list[Pass] = []  # batches trained on since

    def may_end(self) -> None:
        """A pass begins after an optimizer has stepped."""
        attached = self._attached
        recorder = attached._recorder
        alone = not (attached._others or attached.reducers or attached.calls.seen)
        if self._part is None and alone and not attached._stepping and isinstance(recorder._phases, HostPhases):
            self._part = self._taken(attached._now())

    def feeds(self, training_pass: Pass) -> bool:
        """Whether it is still undecided to which step a trained batch belongs."""
        if self._part is None:
            return False
        self._fed.append(training_pass)
        return True

    def goes_on(self) -> None:
        """The step had not ended."""
        if self._part is not None:
            part, self._part = self._part, None
            self._put_back(part)
            self._feed()

    def ended(self) -> bool:
        """Confirm that the step ended where the current one begins; False if there was no such pass."""
        if self._part is None:
            return False
        attached, first, self._part = self._attached, self._part, None
        recorder, worked, passed = attached._recorder, attached.batches._worked, attached._derived
        began = attached._now()
        second = self._taken(began)
        self._put_back(first)
        attached._turn(first.end)
        recorder._begin = first.end
        self._put_back(second)
        recorder._pause = (recorder._pause or 0) + attached._now() - began
        attached.batches._worked, attached._derived = worked, passed
        self._feed()
        return True

    def _feed(self) -> None:
        fed, self._fed = self._fed, []
        for batch in fed:
            self._attached._feed(batch)

    def _taken(self, end: int) -> Part:
        """Take the current data and reset them."""
        attached = self._attached
        recorder = attached._recorder
        phases: Any = recorder._phases
        part = Part(
            end,
            recorder._data,
            recorder._pause,
            recorder._items,
            recorder._batches,
            list(phases.ns),
            list(phases.seen),
            attached._losses,
            attached._pauses,
        )
        recorder._data = recorder._pause = recorder._items = None
        recorder._batches, attached._losses, attached._pauses = 0, [], []
        phases.ns[:], phases.seen[:] = (0, 0, 0), (False, False, False)
        return part

    def _put_back(self, part: Part) -> None:
        attached = self._attached
        recorder = attached._recorder
        phases: Any = recorder._phases
        recorder._data, recorder._pause = _sum(part.data, recorder._data), _sum(part.pause, recorder._pause)
        recorder._items, recorder._batches = _sum(part.items, recorder._items), part.batches + recorder._batches
        phases.ns[:] = [before + since for before, since in zip(part.ns, phases.ns, strict=True)]
        phases.seen[:] = [before or since for before, since in zip(part.seen, phases.seen, strict=True)]
        attached._losses, attached._pauses = part.losses + attached._losses, part.pauses + attached._pauses


def _sum(first: Any, second: Any) -> Any:
    return second if first is None else first if second is None else first + second
