"""How much time does communication take in a training that marks its own steps?

The probe gives steps and phases; hooks record the rest. Only two of the patches for an unmodified script (`torch_hooks`) are applied:
the calls of collectives, and the time of a backward pass's last gradient. They separate a rank that is slow in its backward pass from
the ranks that wait for it there, which marks cannot. `probe.start` installs them if there are other ranks, unless `workload.attach =
false`.

Cannot tell: the phase of the waiting in a script that marks no backward pass; it counts towards none.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from statistics import median
from typing import Any

from fireassay.instruments.hooks.communication_waits import BETWEEN
from fireassay.instruments.hooks.exposed_communication import ExposedCommunication
from fireassay.instruments.hooks.steps import Attached
from fireassay.instruments.recorder.recorder import Recorder


class Marked:
    """Records the communication of steps that the script marks."""

    def __init__(self, torch: Any, recorder: Recorder, before: Attached | None = None) -> None:
        """`before`: the previous hooks' state, whose pending calls continue."""
        self.recorder, self.now = recorder, recorder.now
        self.communication = ExposedCommunication(torch, recorder, recorder.now, self._phase, self.failed)
        if before is not None:
            self.communication.take_over(before.communication)
        self.calls = self.communication.calls
        self._own_ns = 0
        self._own: deque[int] = deque(maxlen=1024)
        self._hooks: list[Any] = []  # of the current backward passes
        self.communication.check_ranks()

    @property
    def active(self) -> bool:
        """True if anything is recorded."""
        return self.recorder.active

    def failed(self, error: Exception) -> None:
        """An internal error: stop measuring, let the training continue."""
        self.silence()
        self.recorder.fail(error, "attach")

    def silence(self) -> None:
        """Stop recording."""
        self.calls.wanted = False

    def shielded(self, call: Callable[..., None], *arguments: Any) -> bool:
        """Run a hook's work, timed. Whether it succeeded; its error ends the measurement."""
        begin = self.now()
        try:
            call(*arguments)
        except Exception as error:
            self.failed(error)
            return False
        finally:
            self._own_ns += self.now() - begin
        return True

    def backward(self, roots: Any, accumulates: bool) -> bool:
        """Gradients are requested. Whether their end is recorded too."""
        return self.shielded(self._backward, roots, accumulates)

    def _backward(self, roots: Any, accumulates: bool) -> None:
        communication = self.communication
        if not communication.others and self.recorder.step_number == 0:  # the process group may exist by now
            communication.check_ranks()
        communication.computed = None
        self._hooks.append(communication.begin_pass(roots) if accumulates else None)

    def backwarded(self) -> None:
        """The gradients are ready."""
        self.shielded(self._backwarded)

    def _backwarded(self) -> None:
        self.communication.end_pass(self._hooks.pop(), self._marked(), self.now())

    def _phase(self) -> str | None:
        return None if self.communication.computed is not None or self.recorder.paused else self._marked()

    def _marked(self) -> str:
        return self.recorder.open_phase or (BETWEEN if self.recorder.in_step else "data")

    def begun(self) -> None:
        """A loop over steps begins: earlier calls belong to no step."""
        evidence = self.communication.evidence
        evidence.watch = self.recorder.model.current or evidence.watch
        self.communication.outside()
        self.communication.record()
        self.calls.step = self.recorder.step_number

    def ended(self) -> None:
        """The current step ends: record its communication."""
        self.shielded(self._ended)

    def _ended(self) -> None:
        step = self.recorder.step_number
        if self.communication.any:
            self.recorder.exposed(self.communication.end_marked(step))
        self._own.append(self._own_ns + self.calls.own_ns)
        self._own_ns = self.calls.own_ns = 0
        self.calls.step = step + 1
        if not (step + 1) & step:
            self.communication.check_ranks()

    def close(self) -> None:
        """The recording ends."""
        self.communication.outside()
        self.communication.close()
        if self._own and self.calls.seen:
            self.recorder.costs(self.recorder.cost_ns + median(self._own), len(self._own))
        self.communication.tell_parallelism()
