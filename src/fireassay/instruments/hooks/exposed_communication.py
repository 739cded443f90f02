"""Which part of a step's communication was not hidden by computation?

Exposed time: from the last gradient to the end of the backward pass, plus the time for which the script's own thread was blocked.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from fireassay.instruments.hooks.collective_calls import Call, Calls
from fireassay.instruments.hooks.communication_waits import Waits
from fireassay.instruments.hooks.step_communication import Pending, StepCommunication, tell
from fireassay.instruments.hooks.step_state import StepState
from fireassay.instruments.hooks.watched_steps import LOGGED_EVERY, UNWATCHED
from fireassay.instruments.recorder.phases import HostPhases
from fireassay.instruments.recorder.recorder import Recorder

# DistributedDataParallel logs its first ten passes; later it is sampled, every so many steps. The log costs a GPU a wait at the next
# forward pass, and reading it 20 microseconds, as long as all other hooks of a forward and backward pass.
LOGGED_ANYHOW: Final = 10
NEVER: Final = 1 << 30
AT_ONCE_NS: Final = 50_000  # maximum between two engine callbacks with no wait in between


class ExposedCommunication(StepState):
    """Watches the engine's backward passes and records each step's collectives."""

    def __init__(self, torch: Any, recorder: Recorder, now: Callable[[], int] = time.monotonic_ns) -> None:
        super().__init__(torch, recorder, now)
        self._hears(self.calls)
        self._engine = torch.autograd.Variable._execution_engine
        self._by_reducer = _ByReducer(self)
        self._pending = Pending(recorder, self.failed)
        recorder.before_flush(self._pending.tell)

    def _hears(self, calls: Calls) -> None:
        """Attach to these calls."""
        calls.waits, calls.failed = Waits(self._now, self._phase), self.failed
        calls.recording = lambda: self._recorder.active
        calls.paused = lambda: bool(self._recorder._phases.paused)

    def _computed_until(self, hook: Any, phase: str, ended: int | None) -> None:
        """A watched backward pass has ended; the time after its last gradient counts as waiting, in that phase."""
        if hook is self._by_reducer and self._computed is not None and self.ordinary.on and ended is not None:
            self._steadily_until(ended)
            return
        if hook is not None:
            hook.remove()
            self.calls.first = None
            if hook is self._by_reducer and self._by_reducer.missed:
                if self._by_reducer.nothing_asked:
                    self._computed, self._blocked_then = ended, self.calls.blocked_ns
                else:
                    self._tail_missed = True
            self.calls.look()
        if self._computed is not None and ended is not None:
            tail, self._computed = ended - self._computed, None
            self.calls.blocked_ns = self._blocked_then  # waits inside the tail are part of it (FSDP2 waits there)
            if not self.calls.paused():
                if self._tail_ns is None:
                    self._tails.clear()
                self._tail_ns = (self._tail_ns or 0) + tail
                self._tails[phase] = self._tails.get(phase, 0) + tail

    def _steadily_until(self, ended: int) -> None:
        """The same for a steady step's single pass, outside pauses, timed from the reducer's first bucket."""
        calls, computed = self.calls, self._computed
        calls.steady = None
        calls.look()
        calls.blocked_ns = self._blocked_then
        self._tail_ns = tail = ended - (computed or ended)
        self._computed, self._tails = None, {"backward": tail}

    def waited(self, ns: int) -> None:
        """The script's own thread was blocked by a collective; within a pause this is part of the pause."""
        try:
            if not self.calls.paused():
                self.calls.blocked_ns += ns
            self.calls.waits.waited(ns)
        except Exception as error:
            self.failed(error)

    def _meet(self) -> None:
        """Check for other ranks, only where that may have changed, since it costs calls."""
        distributed = self._torch.distributed
        ready = distributed.is_available() and distributed.is_initialized()
        self._others = bool(ready and distributed.get_world_size() > 1)
        self.evidence.met(self._recorder._step, counts=not self.watched_steps.missed)

    def _together(self) -> bool:
        return self._others and not self.calls.unwatched

    def _watch_engine(self, root: Any) -> Any:
        """Record when the last gradient is ready.

        The engine runs its callbacks in order of registration. The earliest moment to register is at the first gradient, the root's;
        DDP registers when it has requested its last bucket, and then waits. Registering at its first bucket is early enough and costs
        half, if an earlier pass has shown that nothing requested and waited in between.
        """
        edge = not isinstance(root, self._tensor)
        first = root.node if edge else root.grad_fn
        on_gpu = not isinstance(self._recorder._phases, HostPhases) if edge else root.is_cuda
        if first is None or on_gpu:
            return None
        if self._by_reducer.known and self.ordinary.on and self._recorder.active:
            return self._by_reducer.watch()
        self._by_reducer.compare()
        return first.register_prehook(self._queue)

    def _queue(self, _: Any) -> None:
        self._engine.queue_callback(self._all_computed)

    def _all_computed(self) -> None:
        self._computed, self._blocked_then = self._now(), self.calls.blocked_ns

    def reduces(self, reducer: Any) -> None:
        """Use the runtime log of a new DistributedDataParallel."""
        self.reducers.append(reducer)
        self._log(self._recorder._step)

    def _log(self, step: int) -> None:
        """Sample this step in DDP's log, and the next, in which the log is assembled."""
        phase = step % LOGGED_EVERY
        if phase in (0, 2) or step == 0:
            for reducer in self.reducers:
                reducer._set_ddp_runtime_logging_sample_rate(1 if phase == 0 else NEVER)

    def _tell_communication(self) -> None:
        """Record the collectives since the last step; a pending call waits for the next."""
        recorder, step = self._recorder, self._recorder._step
        if self.calls.unwatched:
            self.pass_over(step)
            self._pending.tell()
            recorder.communicated(UNWATCHED)
            return
        logged = self._is_logged(step)
        if self.ordinary.on and not logged and self._tail_ns is not None and (calls := self.calls.over_now()):
            self._keep_communication(step, calls)
            return
        communication = self._communication(step)
        if communication.tail is not None or any(call.step is not None for call in communication.calls):
            recorder._exposed = communication.exposed
        self._pending.tell()
        tell(recorder, communication)
        if logged:
            self._tell_log(step)

    def _keep_communication(self, step: int, calls: list[Call]) -> None:
        """The same for a steady step whose calls are all complete; the rows are built later."""
        recorded, tail = self.calls, self._tail_ns or 0
        recorded.waits.ended("backward", tail)
        asking, waiting = recorded.waits.both()
        self._recorder._exposed = exposed = None if self._tail_missed or any(call.on_gpu for call in calls) else tail + recorded.blocked_ns
        self._tail_ns, recorded.blocked_ns, self._tail_missed = None, 0, False
        self._pending.add(StepCommunication(step, calls, tail, exposed, asking, waiting, True))

    def pass_over(self, step: int) -> None:
        """Drop the partial times of an unwatched step, such as the wait for a script's own call."""
        self.calls.waits.both()
        self._recorder._exposed = self._tail_ns = None
        self.calls.blocked_ns, self._tail_missed = 0, False
        if self.calls.open:
            for call in self.calls.taken():
                self._recorder.collective(call, "", "host")
        if self._is_logged(step):
            self._tell_log(step)

    def _is_logged(self, step: int) -> bool:
        return bool(self.reducers) and (step % LOGGED_EVERY == 1 or 1 <= step <= LOGGED_ANYHOW)

    def _communication(self, step: int) -> StepCommunication:
        """The communication since the last step."""
        calls = self.calls.taken()
        tail, blocked = self._tail_ns, self.calls.blocked_ns
        if not (self.calls.seen or self.reducers or blocked):
            tail = None  # it communicates in another way (DTensor): unrecorded is not 0
        self._tail_ns, self.calls.blocked_ns = None, 0
        if tail is not None:
            for phase, ns in self._tails.items():
                self.calls.waits.ended(phase, ns)
        asking, waiting = self.calls.waits.both()
        on_gpu = any(call.on_gpu and call.step is not None for call in calls)
        exposed = None if on_gpu or self._tail_missed else (tail or 0) + blocked
        self._tail_missed = False
        waits_visible = isinstance(self._recorder._phases, HostPhases)  # a GPU's waits are not visible
        return StepCommunication(step, calls, tail, exposed, asking, waiting, waits_visible)

    def _tell_log(self, step: int) -> None:
        """Record DistributedDataParallel's log of the previous step, which is assembled when the next forward pass begins.

        It covers one pass: steps with several are left out.
        """
        total = exposed = compute = 0
        for reducer in self.reducers:
            logged = reducer._get_ddp_logging_data()
            before = int(logged.get("iteration", 0)) - step
            alone = before == self._logged.get(id(reducer), 0)
            self._logged[id(reducer)] = before
            if not alone or not logged.get("backward_comm_time_end"):
                return
            total += logged["backward_comm_time"]
            compute += logged["backward_compute_time"]
            exposed += max(0, logged["backward_comm_time_end"] - logged["backward_compute_time_end"])
        self._recorder.communicated("ddp_logging", ago=1, total=total, compute=compute, exposed=exposed)


class _ByReducer:
    """Watches the engine from the reducer's first bucket on, in a steady step's backward pass.

    Without a bucket nothing waits for gradients, unless they are reduced in another way: then the next pass is watched from its first gradient.
    """

    def __init__(self, attached: ExposedCommunication) -> None:
        self._attached = attached
        self._queue = partial(attached._engine.queue_callback, attached._all_computed)
        self.known = False  # the reducer's first bucket is early enough
        self._before = 0  # calls pending and complete at the start of the pass
        self.missed = False  # the last watched pass missed the last gradient's end, since the reducer requested nothing
        self.nothing_asked = False  # nor did anything else

    def compare(self) -> None:
        """Begin a pass that is watched from its first gradient on."""
        self.known, self._attached.calls.first = False, self._queue_second

    def watch(self) -> _ByReducer:
        """Begin a steady pass."""
        calls = self._attached.calls
        calls.steady, calls.first = self._attached.ordinary, self._queue
        self._before = calls.open
        return self

    def remove(self) -> None:
        """End the pass."""
        calls = self._attached.calls
        calls.steady = None
        self.missed, self.nothing_asked = self._attached._computed is None, calls.open == self._before
        if self.missed:
            self.known = False

    def _queue_second(self) -> None:
        self._attached._engine.queue_callback(self._second)

    def _second(self) -> None:
        computed = self._attached._computed
        self.known = computed is not None and self._attached._now() - computed <= AT_ONCE_NS
