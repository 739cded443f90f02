"""Which part of a step's communication was not hidden by computation?

Exposed time: from the last gradient to the end of the backward pass, plus the time for which the script's own thread was blocked.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from fireassay.instruments.hooks.collective_calls import Call, Calls
from fireassay.instruments.hooks.communication_waits import Waits
from fireassay.instruments.hooks.parallelism import KIND, Evidence
from fireassay.instruments.hooks.step_communication import Pending, StepCommunication, write
from fireassay.instruments.hooks.watched_steps import LOGGED_EVERY, WatchedSteps
from fireassay.instruments.recorder.recorder import Recorder
from fireassay.steps.events import NOT_WATCHED

# DistributedDataParallel logs its first ten passes; later it is sampled, every so many steps. The log costs a GPU a wait at the next
# forward pass, and reading it 20 microseconds, as long as all other hooks of a forward and backward pass.
LOGGED_ANYHOW: Final = 10
NEVER: Final = 1 << 30
AT_ONCE_NS: Final = 50_000  # maximum between two engine callbacks with no wait in between


class ExposedCommunication:
    """Watches the engine's backward passes and records each step's collectives."""

    def __init__(
        self, torch: Any, recorder: Recorder, now: Callable[[], int], phase: Callable[[], str | None], failed: Callable[[Exception], None]
    ) -> None:
        """`phase`: the script's current one; None: counted elsewhere, or not training."""
        self._torch, self._recorder, self._now, self._phase, self.failed = torch, recorder, now, phase, failed
        self._tensor, self.queue_callback = torch.Tensor, torch.autograd.Variable._execution_engine.queue_callback
        self.watched_steps = WatchedSteps(Calls(now))
        self.evidence = Evidence(torch)  # of the parallelism
        self.reducers: list[Any] = []  # DistributedDataParallel's
        self.others = False  # whether there are other ranks
        self.computed: int | None = None  # when the last gradient of the current backward pass was ready
        self._blocked_then = 0  # waiting up to then
        self.tail_ns: int | None = None  # from the last gradient to the end of the backward pass, in this step
        self._tails: dict[str, int] = {}  # the same, by phase
        self._tail_missed = False  # in the current step: it communicated, but the time of its last gradient is unknown
        self._logged: dict[int, int] = {}  # reducer -> passes before the first step, according to its log
        self.by_reducer = _ByReducer(self)
        self.pending = Pending(recorder, failed)
        recorder.before_flush(self.pending.record)
        self.hear(self.watched_steps.calls)

    def hear(self, calls: Calls) -> None:
        """Attach to these calls."""
        self.calls = calls
        calls.waits, calls.failed = Waits(self._now, self._phase), self.failed
        calls.recording = lambda: self._recorder.active
        calls.paused = lambda: self._recorder.paused

    def take_over(self, before: ExposedCommunication) -> None:
        """Continue the pending calls of earlier hooks."""
        before.watched_steps.all()
        self.reducers, self.evidence, self.watched_steps = before.reducers, before.evidence, WatchedSteps(before.calls)
        self.hear(before.calls)
        self.calls.taken(everything=True)

    # ------------------------------------------------------------------ backward passes

    def begin_pass(self, roots: Any) -> Any:
        """A backward pass that accumulates gradients begins; returns what `end_pass` needs."""
        self.computed = None
        return self.watch_engine(roots[0]) if self.others and roots and not self.calls.unwatched else None

    def end_pass(self, hook: Any, phase: str, ended: int) -> None:
        """A watched backward pass has ended; the time after its last gradient counts as waiting, in that phase."""
        calls = self.calls
        if hook is self.by_reducer and self.computed is not None:
            calls.steady = None
            calls.collect()
        elif hook is not None:
            hook.remove()
            calls.first = None
            if hook is self.by_reducer and self.by_reducer.missed:
                if self.by_reducer.nothing_asked:
                    self.computed, self._blocked_then = ended, calls.blocked_ns
                else:
                    self._tail_missed = True
            calls.collect()
        if self.computed is None:
            return
        tail, self.computed = ended - self.computed, None
        calls.blocked_ns = self._blocked_then  # waits inside the tail are part of it (FSDP2 waits there)
        if not calls.paused():
            if self.tail_ns is None:
                self._tails.clear()
            self.tail_ns = (self.tail_ns or 0) + tail
            self._tails[phase] = self._tails.get(phase, 0) + tail

    def waited(self, ns: int) -> None:
        """The script's own thread was blocked by a collective; within a pause this is part of the pause."""
        try:
            if not self.calls.paused():
                self.calls.blocked_ns += ns
            self.calls.waits.waited(ns)
        except Exception as error:
            self.failed(error)

    def check_ranks(self) -> None:
        """Check for other ranks, only where that may have changed, since it costs calls."""
        distributed = self._torch.distributed
        ready = distributed.is_available() and distributed.is_initialized()
        self.others = bool(ready and distributed.get_world_size() > 1)
        self.evidence.note_ranks(self._recorder.step_number, counts=not self.watched_steps.missed)

    @property
    def any(self) -> bool:
        """True if steps may communicate."""
        return self.others or bool(self.reducers) or self.calls.seen

    def watch_engine(self, root: Any) -> Any:
        """Record when the last gradient is ready.

        The engine runs its callbacks in order of registration. The earliest moment to register is at the first gradient, the root's;
        DDP registers when it has requested its last bucket, and then waits. Registering at its first bucket is early enough and costs
        half, if an earlier pass has shown that nothing requested and waited in between.
        """
        edge = not isinstance(root, self._tensor)
        first = root.node if edge else root.grad_fn
        on_gpu = self._recorder.on_gpu if edge else root.is_cuda
        if first is None or on_gpu:
            return None
        if self.by_reducer.known and self._recorder.active and not self.calls.paused():
            return self.by_reducer.watch()
        self.by_reducer.compare()
        return first.register_prehook(self._queue)

    def _queue(self, _: Any) -> None:
        self.queue_callback(self.all_computed)

    def all_computed(self) -> None:
        self.computed, self._blocked_then = self._now(), self.calls.blocked_ns

    def reduces(self, reducer: Any) -> None:
        """Use the runtime log of a new DistributedDataParallel."""
        self.reducers.append(reducer)
        self._recorder.expect_work()
        self._log(self._recorder.step_number)

    def _log(self, step: int) -> None:
        """Sample this step in DDP's log, and the next, in which the log is assembled."""
        phase = step % LOGGED_EVERY
        if phase in (0, 2) or step == 0:
            for reducer in self.reducers:
                reducer._set_ddp_runtime_logging_sample_rate(1 if phase == 0 else NEVER)

    # ------------------------------------------------------------------ the end of a step

    def outside(self) -> None:
        """The calls and waits so far belong to no step."""
        self.calls.outside()
        self.tail_ns = None

    def end_step(self, step: int, *, in_pass: bool = False) -> int | None:
        """A step is over, and the next begins; returns its exposed nanoseconds, or `NOT_WATCHED`."""
        watched, usual = not self.calls.unwatched, False
        if watched:
            exposed = self.record_step(step)
        else:
            exposed, usual = NOT_WATCHED, self.watched_steps.goes_on(step)
            if not usual:
                self.pass_over(step)
        if self.reducers and not usual:
            self._log(step + 1)
            self.watched_steps.ended()
            if not in_pass:
                self.watched_steps.begins(step + 1)
        return exposed

    def end_marked(self, step: int) -> int | None:
        """A step that the script marks is over; all of them are watched. Returns its exposed nanoseconds."""
        exposed = self.record_step(step)
        if self.reducers:
            self._log(step + 1)
        return exposed

    def end_last(self, step: int, end: int, blocked: int) -> int | None:
        """The last step ended at its last update: later calls belong to no step. Returns its exposed nanoseconds, or `NOT_WATCHED`."""
        self.calls.end_at(end, blocked)
        if self.calls.unwatched:
            self.pass_over(step)
            return NOT_WATCHED
        return self.record_step(step)

    def close(self) -> None:
        """The process ends: record the calls still pending."""
        self.calls.wanted = False
        self.pending.record()
        self.record(everything=True)

    def record_parallelism(self) -> None:
        """Record the evidence of the parallelism."""
        recorder = self._recorder
        if recorder.active and recorder.workers > 1:
            self.evidence.note_ranks(recorder.step_number, counts=not self.watched_steps.missed)
            recorder.event(KIND, self._now(), detail=self.evidence.detail(recorder.model.current, self.reducers))

    def record(self, *, everything: bool = False) -> None:
        """Record the completed calls, in no phase; at the end, all."""
        for call in self.calls.taken(everything=everything):
            self._recorder.collective(call, "", "host")

    def record_step(self, step: int) -> int | None:
        """Record the collectives since the last step, and return the exposed time; a pending call waits for the next."""
        logged = self._is_logged(step)
        if not logged and self.tail_ns is not None and (calls := self.calls.over_now()):
            return self._keep_communication(step, calls)
        communication = self._communication(step)
        known = communication.tail is not None or any(call.step is not None for call in communication.calls)
        self.pending.record()
        write(self._recorder, communication)
        if logged:
            self._record_log(step)
        return communication.exposed if known else None

    def _keep_communication(self, step: int, calls: list[Call]) -> int | None:
        """The same for a step whose calls are all complete; the rows are built later."""
        communication = self._communication(step, calls)
        self.pending.add(communication)
        return communication.exposed

    def pass_over(self, step: int) -> None:
        """Drop the partial times of an unwatched step, such as the wait for a script's own call."""
        self.calls.waits.both()
        self.tail_ns = None
        self.calls.blocked_ns, self._tail_missed = 0, False
        if self.calls.open:
            self.record()
        if self._is_logged(step):
            self._record_log(step)

    def _is_logged(self, step: int) -> bool:
        return bool(self.reducers) and (step % LOGGED_EVERY == 1 or 1 <= step <= LOGGED_ANYHOW)

    def _communication(self, step: int, calls: list[Call] | None = None) -> StepCommunication:
        """The communication since the last step."""
        calls = self.calls.taken() if calls is None else calls
        self._recorder.model.communicated(step, sum(call.nbytes for call in calls if call.step is not None))
        tail, blocked = self.tail_ns, self.calls.blocked_ns
        if not (self.calls.seen or self.reducers or blocked):
            tail = None  # it communicates in another way (DTensor): unrecorded is not 0
        self.tail_ns, self.calls.blocked_ns = None, 0
        if tail is not None:
            for phase, ns in self._tails.items():
                self.calls.waits.ended(phase, ns)
        asking, waiting = self.calls.waits.both()
        on_gpu = any(call.on_gpu and call.step is not None for call in calls)
        exposed = None if on_gpu or self._tail_missed else (tail or 0) + blocked
        self._tail_missed = False
        return StepCommunication(step, calls, tail, exposed, asking, waiting, not self._recorder.on_gpu)

    def _record_log(self, step: int) -> None:
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

    on = True  # for the calls that it takes (`Calls.steady`)

    def __init__(self, communication: ExposedCommunication) -> None:
        self._communication = communication
        queue = communication.queue_callback
        self._queue, self._queue_second = partial(queue, communication.all_computed), partial(queue, self._second)
        self.known = False  # the reducer's first bucket is early enough
        self._before = 0  # calls pending and complete at the start of the pass
        self.missed = False  # the last watched pass missed the last gradient's end, since the reducer requested nothing
        self.nothing_asked = False  # nor did anything else

    def compare(self) -> None:
        """Begin a pass that is watched from its first gradient on."""
        self.known, self._communication.calls.first = False, self._queue_second

    def watch(self) -> _ByReducer:
        """Begin a steady pass."""
        calls = self._communication.calls
        calls.steady, calls.first = self, self._queue
        self._before = calls.open
        return self

    def remove(self) -> None:
        """End the pass."""
        calls = self._communication.calls
        calls.steady = None
        self.missed, self.nothing_asked = self._communication.computed is None, calls.open == self._before
        if self.missed:
            self.known = False

    def _second(self) -> None:
        computed = self._communication.computed
        self.known = computed is not None and self._communication._now() - computed <= AT_ONCE_NS
