"""How much time does communication take in a training that marks its own steps?

The probe gives steps and phases; hooks record the rest. Only two of the patches for an unmodified script (`torch_hooks`) are applied:
the calls of collectives, and the time of a backward pass's last gradient. They separate a rank that is slow in its backward pass from
the ranks that wait for it there, which marks cannot. `probe.start` installs them if there are other ranks, unless `workload.attach =
false`.

Cannot tell: the phase of the waiting in a script that marks no backward pass; it counts towards none.
"""

from __future__ import annotations

from statistics import median
from typing import Any

from fireassay.instruments.hooks.communication_waits import BETWEEN
from fireassay.instruments.hooks.steps import Attached
from fireassay.instruments.recorder.phases import NAMES
from fireassay.instruments.recorder.recorder import Recorder


class Marked(Attached):
    """Records the communication of steps that the script marks."""

    def __init__(self, torch: Any, recorder: Recorder, before: Attached | None = None) -> None:
        """`before`: the previous hooks' state, whose pending calls continue."""
        super().__init__(torch, recorder, recorder._now)
        if before is not None:
            before.watched_steps.all()
            self.calls, self.reducers, self.evidence = before.calls, before.reducers, before.evidence
            self._hears(self.calls)
            self.calls.taken(everything=True)
        self._meet()

    def backward(self, roots: Any, accumulates: bool) -> None:
        """Gradients are requested."""
        if not self._others and self._recorder._step == 0:  # the process group may exist by now
            self._meet()
        self._computed, hook = None, self._watch_engine(roots[0]) if accumulates and self._together() else None
        self._passes.append((False, None, hook))

    def backwarded(self) -> None:
        """The gradients are ready."""
        ended = None if self._computed is None else self._now()
        _, _, hook = self._passes.pop()
        self._computed_until(hook, self._marked(), ended)

    def _phase(self) -> str | None:
        return None if self._computed is not None or self._recorder._phases.paused else self._marked()

    def _marked(self) -> str:
        stack = self._recorder._phases.stack
        if stack:
            return NAMES[stack[-1]]
        return BETWEEN if self._recorder._in_step else "data"

    def begun(self) -> None:
        """A loop over steps begins: earlier calls belong to no step."""
        self.evidence.watch = self._recorder._watch or self.evidence.watch
        self._leave_out()
        for call in self.calls.taken():
            self._recorder.collective(call, "", "host")
        self.calls.step = self._recorder._step

    def _leave_out(self) -> None:
        self.calls.outside()
        self._tail_ns = None

    def ended(self) -> None:
        """The current step ends: record its communication."""
        self.shielded(self._ended)

    def _ended(self) -> None:
        if self._others or self.reducers or self.calls.seen:
            self._tell_communication()
        self._own.append(self._own_ns + self.calls.own_ns)
        self._own_ns = self.calls.own_ns = 0
        step = self.calls.step = self._recorder._step + 1
        if self.reducers:
            self._log(step)
        if not step & (step - 1):
            self._meet()

    def close(self) -> None:
        """The recording ends."""
        self.calls.wanted = False
        self._leave_out()
        for call in self.calls.taken(everything=True):
            self._recorder.collective(call, "", "host")
        if self._own and self.calls.seen:
            self._recorder.costs(self._recorder.cost_ns + median(self._own), len(self._own))
        self._tell_parallelism()
