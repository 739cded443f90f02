"""What does the probe record inside a launch, and when?

Steps: a step's end is the next one's begin, so that nothing between two steps is lost, except that hashing the model,
and writing the rows up to a saved checkpoint, are kept out of both.  Those rows are written at once: what a checkpoint
holds is never done again after a kill, so that without them the samples of a killed worker would look lost.
Saving or loading a checkpoint and evaluating inside a step are pauses: their time goes into the step's
`checkpoint_ns`, which readers take off the step's time, and the events say which of them it was.  (Ending the step at
the evaluation instead would lose the training of a script that evaluates first and marks no phases.)
A loop left early (break, exception): its last step counts if its optimizer phase was seen, or, in a script that marks
none, if anything was marked in it and the script went on: while an exception unwinds, the loop cannot know of it, so that such a
step's row is held back until a loop or a pause begins or the recording ends.

Time: `time.monotonic_ns` is called directly, not through `assay.clock`, because this is the one place where a call more
per reading would be part of what is measured.  It is the same clock.
Errors: whatever goes wrong in here is said once on stderr and ends the recording, never the training.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Concatenate, Final, NoReturn, ParamSpec, Protocol, Self

from assay.instruments.fingerprints import first_gradients as _first_gradients
from assay.instruments.fingerprints import gradient_sketch as gradients
from assay.instruments.fingerprints import later_gradients, model_hash
from assay.instruments.recorder import batch_statistics, clock_pings, peak_memory
from assay.instruments.recorder import values as _values
from assay.instruments.recorder.cuda_events import CudaPhases, Later, uses_cuda
from assay.instruments.recorder.flight_recorder import Flights, read_at_end
from assay.instruments.recorder.inactive import Batch, PhaseName, Probe, RandomState
from assay.instruments.recorder.phases import NAMES, OPTIMIZER, HostPhases, Times
from assay.instruments.recorder.profiler import Profiled, asked_of
from assay.instruments.recorder.restored_step import Restored, States
from assay.instruments.recorder.self_cost import cost_per_step
from assay.instruments.recorder.sink import Identity, LaunchSink, MemorySink, Sink, identity_from, process_start_ns
from assay.instruments.recorder.step_iterator import Pause, Steps
from assay.instruments.recorder.step_limit import KIND as STEPS_REACHED
from assay.instruments.recorder.step_limit import StepLimit, limit_from
from assay.instruments.recorder.step_work import WorkOfAStep

PATIENCE_S: Final = 2.0  # with the end of the recording, where a script ends the process at once
_NOTHING: AbstractContextManager[None] = nullcontext()
_P = ParamSpec("_P")


def _shielded(method: Callable[Concatenate[Recorder, _P], None]) -> Callable[Concatenate[Recorder, _P], None]:
    """The method does nothing when nothing is recorded, and its errors end the recording instead of the training."""

    def shielded(self: Recorder, /, *args: _P.args, **kwargs: _P.kwargs) -> None:
        if self.active:
            try:
                method(self, *args, **kwargs)
            except Exception as error:
                self.fail(error, f"probe.{method.__name__.lstrip('_')}")

    functools.update_wrapper(shielded, method)
    return shielded


class Communication(Protocol):
    """Who sees communication beside somebody else's marks (`_marked.py`)."""

    def begun(self) -> None:
        """A loop over steps begins."""
        ...

    def ended(self) -> None:
        """The step under way ends."""
        ...

    def close(self) -> None:
        """The recording ends."""
        ...


class Recorder(Probe):
    """The probe that records."""

    def __init__(
        self, identity: Identity, sink: Sink, *, now: Callable[[], int] = time.monotonic_ns, on_close: Callable[[], None] = lambda: None
    ) -> None:
        self.active = True
        self.seed, self.rank, self.workers = identity.seed, identity.rank, identity.workers
        self._identity, self._sink, self._now, self._on_close = identity, sink, now, on_close
        self._key = (identity.launch, identity.rank, identity.incarnation)
        self._append = sink.append
        self._phases: HostPhases | CudaPhases = HostPhases(now, self._step_row)
        self._named: Mapping[str, AbstractContextManager[None]] = self._phases.named
        self._later: Later | None = None  # what a GPU still owes
        self._last_look: Callable[[], None] = _no_look  # at the clock of another host
        self.cost_ns = 0.0  # what marking a step was found to take
        self._communication: Communication | None = None  # of a script that marks its own steps
        self._work: WorkOfAStep | None = None  # what counts the first step's operations
        self._profiled: Profiled | None = None  # in launches that are looked at closely and not timed
        self.limit: StepLimit | None = None  # of a job that is not to be run to its end
        self._entered = 0
        self._flights = Flights(now, self.workers) if self.workers > 1 else None  # for torch's own list of collectives
        self._watching: model_hash.Watch | None = None
        self.optimizers: Iterable[Any] = ()  # that there are, as far as somebody else knows
        self.states: States | None = None  # how far it is, where workers may be started again
        self.went_on: Restored | None = None  # from where this incarnation went on
        self._hash_ns = 0
        self._gradients: _first_gradients.FirstGradients | None = None
        self._later_steps: later_gradients.LaterSteps | None = None
        self._asks_sending = False  # whether statistics of batch normalisation are sent to all ranks
        self._starts: Mapping[str, int] = {}  # of the parameters, for launches of which no rank may hold them all
        self.ends_at: int | None = None  # when the last step was over, as far as somebody else tells
        self._batches = 0  # worked on in the step under way, as far as somebody else tells
        self._first_step_seen = False
        self._step = 0  # number of the step under way, which is the number of steps finished before it
        self._loop = 0  # number of the `steps` loop under way
        self._epoch = 0
        self._in_step = False
        self._held: tuple[int, int, int] | None = None  # a step that a failure may have cut short: number, begin, end
        self._held_rows: list[tuple[Any, ...]] = []
        self._saved = False  # whether a checkpoint was saved since the last step ended
        self._saved_after: int | None = None  # steps, at the last of them
        self._touched = False  # whether samples or log were called in the step under way
        self._marks_optimizer = False  # whether any step so far marked its optimizer
        self._begin = 0
        self._data: int | None = None
        self._pause: int | None = None
        self._exposed: int | None = None
        self._items: float | None = None

    # ------------------------------------------------------------------ the loop

    def steps(self, loader: Iterable[Batch], *, epoch: int = 0, start: int = 0) -> Iterator[Batch]:
        """See `Probe.steps`."""
        self._begin_loop(epoch, start)
        return Steps(self, loader, self._loop)

    @_shielded
    def _begin_loop(self, epoch: int, start: int) -> None:
        self.leave(self._loop)
        self._release()
        self._choose_phases()
        self._loop += 1
        self._epoch = int(epoch)
        self._step = max(self._step, int(start))
        if self._watch is not None and not self._step:
            self._go_on(self._watch, told=True)
        if self._work is not None:
            self._named = self._work.begin(self._named, None if self._watch is None else self._watch.device)
        if self._profiled is not None:
            self._profiled.begin(self._step)
        if self._communication is not None:
            self._communication.begun()
        self.turn()

    def turn(self, at: int | None = None) -> None:
        """The next batch is asked for, or was then: the step under way ends and the next begins."""
        try:
            now = self._now() if at is None else at
            if self._in_step:
                self._end_step(now)
            if self._profiled is not None and self._profiled.due:
                self._profiled.ended()
                now = self._now()
            if self._work is not None and self._work.told:
                self._named, self._work = self._work.finish(self._event), None
                now = self._now()
            if self._saved:
                self._saved = False
                self._sink.flush()
                now = self._now()
            if self._watch is not None and self._watch.due(self._step):
                self._hash(self._watch)
                now = self._now()
            if self._later_steps is not None and self._step >= self._later_steps.next:
                self._wait_for_optimizer(self._later_steps)
                now = self._now()
            self._begin = now
            if self.limit is not None and self.limit.reached(self._step):
                self.limit.end(self._step)
        except Exception as error:
            self.fail(error)

    def got(self, batch: Any) -> None:
        """The batch is here."""
        try:
            self._data = self._now() - self._begin
            self._items = _values.batch_items(batch)
            self._pause = self._exposed = None
            self._touched = False
            self._phases.clear()
            self._in_step = True
        except Exception as error:
            self.fail(error)

    # ------------------------------------------------------------------ steps that somebody else sees (`_attached.py`)

    def opened(self, epoch: int) -> None:
        """A step begins at the last turn; what is waited for, and how much work it is, is told while it lasts."""
        self._epoch = epoch
        self._batches = 0
        self._data = self._pause = self._exposed = self._items = None
        self._touched = False
        self._phases.clear()
        self._in_step = True

    @property
    def plain(self) -> bool:
        """Whether the end of a step is a row and nothing else, until the next step at which hashes are due."""
        more = (self._later, self._work, self._profiled, self._communication, self._held)
        phases = self._phases
        idle = isinstance(phases, HostPhases) and not (phases.paused or phases.stack)
        seen = self._first_step_seen and self._marks_optimizer and not self._saved
        told = self._gradients is None or self._gradients.told
        looking = self._later_steps is not None and self._later_steps.armed
        return self.active and self._in_step and idle and seen and told and not looking and all(one is None for one in more)

    @property
    def due(self) -> int:
        """The step before which more is to be done than to write the row of the last one, hashes aside."""
        later, limit = self._later_steps, self.limit
        ends = limit.last if limit is not None else None
        return min(later_gradients.NEVER if later is None else later.next, later_gradients.NEVER if ends is None else ends)

    def withdraw(self) -> None:
        """The step under way is none: nobody can tell where steps begin and end, or it has not begun yet."""
        self._in_step = False
        if self._work is not None:
            self._named = self._work.withdraw(self._named)

    def waited(self, ns: int) -> None:
        """So much longer for data."""
        self._data = (self._data or 0) + ns

    def fed(self, items: float | None, epoch: int | None = None, ids: list[int] | None = None) -> None:
        """A batch is worked on in the step under way; with its samples, where it has an epoch."""
        self._batches += 1
        if items is not None:
            self._items = (self._items or 0.0) + items
        if epoch is not None and ids is not None:
            self._epoch = epoch
            self._append("samples", (*self._key, epoch, self._step, ids))

    @_shielded
    def unknown_samples(self, reason: str) -> None:
        """Which samples were trained on cannot be told, of this launch."""
        self._event("samples_unknown", self._now(), step=self._step, detail={"reason": reason})

    def evaluated(self, data: str, samples: int, trained_on: int, same: bool) -> None:
        """An evaluation of so many samples, so many of which the model had been trained on; whether its data set is the training's."""
        detail = {"data": data, "samples": samples, "training_data": same}
        self._event("evaluated_samples", self._now(), step=self._step, value=float(trained_on), detail=detail)

    def lost(self, loss: Any) -> None:
        """The loss of the step under way."""
        if type(loss) is float and self.active:
            self._append("fingerprints", (*self._key, self._step, "loss", loss, None))
        elif self.active:
            self._number("loss", loss)

    def communicated(
        self,
        method: str,
        *,
        total: int | None = None,
        exposed: int | None = None,
        compute: int | None = None,
        nbytes: int | None = None,
        of_step: bool = False,
        ago: int = 0,
    ) -> None:
        """What the communication of the step under way, or of one so many steps ago, took by one way of measuring it.

        `of_step`: it is the step's own number.
        """
        if of_step:
            self._exposed = exposed
        self._append("communication", (*self._key, self._step - ago, method, total, exposed, compute, nbytes))

    def collective(self, call: Any, phase: str, method: str) -> None:
        """A collective that is over."""
        where = (call.group, call.number, call.step)
        what = (call.op, call.size, call.nbytes, call.dtype, phase, None, call.begin, call.end, call.blocked)
        self._append("collectives", (*self._key, *where, *what, None, None, method))

    def before_flush(self, tell: Callable[[], None]) -> None:
        """Somebody keeps rows back: they are asked for before what was taken is written."""
        self._sink.before_flush(tell)

    def sees(self, communication: Communication) -> None:
        """Communication is seen beside the marks from here on."""
        self._communication = communication

    def set_aside(self, kind: str, begin: int, ns: int, detail: Mapping[str, Any] = MappingProxyType({})) -> None:
        """A part of the step under way was no training."""
        self._pause = (self._pause or 0) + ns
        self._event(kind, begin, ns, step=self._step, detail=detail)

    def watched(self, model: Any) -> None:
        """Watch a model from inside the first step, before it has changed; hashing it is no training."""
        self.watch(model)
        if self._watch is not None:
            self._go_on(self._watch)
        if self._choose_phases() and self._work is not None:  # CUDA was started since the step began
            self._named = self._work.begin_again(self._named, None if self._watch is None else self._watch.device)
        if self._watch is not None and self._watch.due(self._step):
            before = self._hash_ns
            self._phases.pause()
            self._hash(self._watch)
            self._phases.resume()
            self._pause = (self._pause or 0) + self._hash_ns - before

    def _go_on(self, watch: model_hash.Watch, *, told: bool = False) -> None:
        """The first step begins: learn which one it is, after a restart; finding that out is no training.

        `told`: the script says the number of its first step itself, by saying nothing the first.
        """
        if self.states is None or self.went_on is not None:
            return
        begin = self._now()
        self.went_on = self.states.restored(watch.model) if self._identity.incarnation else Restored(step=0)
        known = self.went_on.step is not None
        if known:
            self._step = max(self._step, self.went_on.step or 0)
        if self._identity.incarnation and (known or not told):
            detail = {"by": self.went_on.by, "why": self.went_on.why}
            self._event("resumed", begin, step=self.went_on.step, detail=detail)
        self.states.note(watch.model, self._step if known or told else None)
        self._hash_ns += self._now() - begin

    def begin_outside(self) -> None:
        """The first step that somebody else sees begins."""
        self._begin_loop(0, 0)

    def leave(self, loop: int, *, failed: bool = False) -> None:
        """The loop was left before its loader ended: on purpose, after a step, or because something failed, in the middle of one."""
        if not self._in_step or loop != self._loop:
            return
        if self._phases.seen[OPTIMIZER]:
            self._end_step(self.ends_at or self._now())
        elif not failed and not self._marks_optimizer and (self._touched or any(self._phases.seen)):
            now = self._now()
            self._held = (self._step, self._begin, now)
            self._end_step(now)
        self._in_step = False

    def _release(self) -> None:
        """The script went on after the loop that it left: its last step was one."""
        if self._held is None:
            return
        held, self._held = self._held, None
        for row in self._held_rows:
            self._append("steps", row)
        self._held_rows.clear()
        self._tell_step(*held)

    def _end_step(self, end: int) -> None:
        step = self._step
        if self._communication is not None:
            self._communication.ended()
        self._in_step = False
        self._step = step + 1
        self._marks_optimizer = self._marks_optimizer or self._phases.seen[OPTIMIZER]
        if self._flights is not None:
            self._flights.ended((step, self._begin, end))
        self._phases.finish((step, self._begin, end, self._data, self._pause, self._exposed, self._items))
        if self._work is not None:
            self._work.tell(step, self._items)
        if self._profiled is not None:
            self._profiled.over()
        if self._held is None:
            self._tell_step(step, self._begin, end)
        if self._later is not None:
            self._later.poll()

    def _tell_step(self, step: int, begin: int, end: int) -> None:
        self._sink.step(step + 1, end)
        if not self._first_step_seen:
            self._first_step_seen = True
            self._event("first_step", begin, end - begin, step=step)

    def _step_row(self, fields: tuple[Any, ...], times: Times, method: str) -> None:
        row = (*self._key, *fields[:4], *times, *fields[4:], method)
        if self._held is not None and self._held[0] == fields[0]:
            self._held_rows.append(row)
        else:
            self._append("steps", row)

    def _choose_phases(self) -> bool:
        """Events instead of the host's clock from here on, if the training runs on a GPU; whether that is new."""
        torch = sys.modules.get("torch")
        if torch is None or self._later is not None:
            return False
        if not uses_cuda(torch, None if self._watch is None else self._watch.device):
            return False
        self._later = Later(torch)
        self._phases = CudaPhases(torch, self._later, self._step_row, self.fail)
        self._named = self._phases.named
        return True

    # ------------------------------------------------------------------ marks inside a step

    def phase(self, name: PhaseName) -> AbstractContextManager[None]:
        """See `Probe.phase`."""
        try:
            return self._named[name]
        except (KeyError, TypeError):
            return self._unknown_phase(name)

    def _unknown_phase(self, name: object) -> AbstractContextManager[None]:
        if self.active:
            allowed = ", ".join(NAMES)
            _say(f"probe.phase: found {name!r}; allowed: {allowed}. This phase is not timed; use one of these names.")
            self._named = {**self._named, str(name): _NOTHING}
        return _NOTHING

    @_shielded
    def samples(self, ids: Any) -> None:
        """See `Probe.samples`."""
        self._touched = True
        place = (*self._key, self._epoch, self._step)
        if self._later is not None and _values.on_cuda(ids):
            self._later.number(ids.reshape(-1), lambda values: self._append("samples", (*place, values)))
        else:
            self._append("samples", (*place, _values.as_ids(ids)))

    @_shielded
    def log(self, *, loss: Any = None, grad_norm: Any = None, items: float | None = None, denominator: float | None = None) -> None:
        """See `Probe.log`."""
        self._touched = True
        if denominator is not None:
            self._fingerprint("denominator", value=_values.as_count("denominator", denominator))
        if items is not None:
            self._items = _values.as_count("items", items)
        if loss is not None:
            self._number("loss", loss)
        if grad_norm is not None:
            self._number("grad_norm", grad_norm)

    def _number(self, what: str, value: Any) -> None:
        """Now where that is free of waiting, else when the GPU is done with it."""
        place = (*self._key, self._step, what)
        if self._later is not None and _values.on_cuda(value):
            self._later.number(value.reshape(()), lambda x: self._append("fingerprints", (*place, float(x), None)))
        else:
            self._append("fingerprints", (*place, _values.as_number(value), None))

    # ------------------------------------------------------------------ pauses and events

    def checkpoint_save(self) -> AbstractContextManager[None]:
        """See `Probe.checkpoint_save`."""
        return Pause(self, "checkpoint_save") if self.active else _NOTHING

    def checkpoint_load(self) -> AbstractContextManager[None]:
        """See `Probe.checkpoint_load`."""
        return Pause(self, "checkpoint_load") if self.active else _NOTHING

    def evaluation(self) -> AbstractContextManager[None]:
        """See `Probe.evaluation`."""
        return Pause(self, "evaluation") if self.active else _NOTHING

    def pause(self, kind: str = "") -> int:
        """A pause begins; its time."""
        try:
            self._release()
            self._phases.pause()
            if kind == "checkpoint_save":
                self._sink.saving(True)
            return self._now()
        except Exception as error:
            self.fail(error)
            return 0

    @_shielded
    def resume(self, kind: str, begin: int, succeeded: bool, detail: Mapping[str, Any] = MappingProxyType({})) -> None:
        """A pause ends; it leaves an event only if it ended without an exception."""
        duration = self._now() - begin
        self._phases.resume()
        if kind == "checkpoint_save":
            self._sink.saving(False)
        if self._in_step and not self._phases.paused:
            self._pause = (self._pause or 0) + duration
        if succeeded:
            steps = self._finished()
            self._event(kind, begin, duration, step=steps, detail=detail)
            if kind == "checkpoint_save":
                self._has_saved(steps)

    @_shielded
    def saved(self, begin: int, ns: int, detail: Mapping[str, Any] = MappingProxyType({}), *, beside: bool = False) -> None:
        """A checkpoint was saved in the step under way, as is told afterwards; `beside`: by another thread, while training went on."""
        steps = self._finished()
        if self._in_step and not beside:
            self._pause = (self._pause or 0) + ns
        self._event("checkpoint_save", begin, ns, step=steps, detail=detail)
        self._has_saved(steps, noted=not beside)

    def _has_saved(self, steps: int, *, noted: bool = True) -> None:
        """Several files after the same step are one checkpoint."""
        if noted and self.states is not None and self._watch is not None:
            begin = self._now()
            known = self.went_on is None or self.went_on.step is not None
            self.states.note(self._watch.model, steps if known else None, saved=True)
            self._hash_ns += self._now() - begin
        if steps != self._saved_after:
            self._saved_after = steps
            self._sink.checkpoint(steps)
        self._saved = True

    def _finished(self) -> int:
        """Steps finished: the step under way is one of them once its optimizer is done."""
        if not self._in_step:
            return self._step
        return self._step + 1 if self._phases.seen[OPTIMIZER] or not self._marks_optimizer else self._step

    @_shielded
    def useful_work(self, n: float) -> None:
        """See `Probe.useful_work`."""
        if self.rank == 0:
            self._event("useful_work", self._now(), value=_values.as_count("n", n))

    def _event(
        self,
        kind: str,
        ns: int,
        duration: int | None = None,
        *,
        step: int | None = None,
        value: float | None = None,
        detail: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        launch, rank, incarnation = self._key
        host, text = self._identity.host, json.dumps(dict(detail))
        self._append("events", (launch, ns, duration, host, rank, incarnation, kind, step, value, text))

    # ------------------------------------------------------------------ the model, the data, the scores

    @property
    def _watch(self) -> model_hash.Watch | None:
        """What is hashed of the model that is trained, while there is one."""
        watch = self._watching
        return None if watch is None or watch.model is None else watch

    @_shielded
    def watch(self, model: Any, *, random: RandomState | None = None) -> None:
        """See `Probe.watch`."""
        self._leave_gradients()
        self._leave_later_steps()
        staged = model_hash.is_called_as_a_stage()
        watch = self._watching = model_hash.Watch(model, staged=staged, optimizers=self.optimizers)
        self._fingerprint("parameters", value=float(watch.parameters))
        for what, number in zip(("random_layers", "batch_layers"), model_hash.layers(model), strict=True):
            self._fingerprint(what, value=float(number))
        if random is not None:
            self._fingerprint("random_state", text=random)
        self._asks_sending = self.workers > 1
        if watch.staged:  # a stage is no replica
            return
        self._later_steps = later_gradients.wait_for(model, self.seed, self._look_at_step)
        if self._identity.incarnation == 0:  # a run that goes on has no first gradient
            self._gradients = _first_gradients.wait_for(model, self._first_gradients, watch.trained_by)

    @_shielded
    def gradients(self, named: Mapping[str, Any]) -> None:
        """See `Probe.gradients`."""
        self._leave_gradients()
        self._first_gradients(named.items(), None)
        if self._later_steps is not None:  # they do not lie where they are looked for
            self._later_steps.gradients_since = None

    def _first_gradients(self, named: Iterable[tuple[str, Any]], precision: str | None) -> None:
        """The gradients of the step under way. What cannot be kept is said to be so."""
        with self._set_aside_hashing():
            try:
                for row in gradients.rows(named, precision, self._starts):
                    self._append("gradients", (*self._key, self._step, *row))
                if self._batches:
                    self._fingerprint("accumulation", value=float(self._batches))
                if self._later_steps is not None:
                    self._later_steps.gradients_since = self._step
            except Exception as error:
                _say(f"the gradients are not compared with one worker's: {type(error).__name__}: {error}")

    @contextmanager
    def _set_aside_hashing(self) -> Iterator[None]:
        """What is done in here, inside of a step, is no training."""
        self._phases.pause()
        begin = self._now()  # inside of the pause: what lies between two readings of the clock must not count twice
        yield
        spent = self._now() - begin
        self._phases.resume()
        self._hash_ns += spent
        if self._in_step and not self._phases.paused:
            self._pause = (self._pause or 0) + spent

    def _wait_for_optimizer(self, later: later_gradients.LaterSteps) -> None:
        """A chosen step begins."""
        if self._gradients is not None and self._gradients.over:
            self._leave_gradients()
        later.arm()

    @_shielded
    def _look_at_step(self, optimizer: Any, clips: list[later_gradients.Clip]) -> None:
        """What the step under way is trained with, just before the optimizer steps."""
        later, watch = self._later_steps, self._watch
        if later is None or watch is None:
            return
        later.looked(self._step)
        with self._set_aside_hashing():
            try:
                self._tell_later(later, watch, optimizer, clips)
            except Exception as error:
                self._leave_later_steps()
                _say(f"later steps are not compared between ranks: {type(error).__name__}: {error}")

    def _tell_later(
        self, later: later_gradients.LaterSteps, watch: model_hash.Watch, optimizer: Any, clips: list[later_gradients.Clip]
    ) -> None:
        training, mode = later_gradients.mode_of(watch.model)
        self._append("fingerprints", (*self._key, self._step, "mode", training, mode))
        self._fingerprint("optimizer_settings", text=later_gradients.settings_of(optimizer))
        for norm, limit in clips:
            self._fingerprint("clip_norm", value=norm)
            self._fingerprint("clip_limit", value=limit)
        if self._asks_sending:
            self._asks_sending = False
            if (sent := batch_statistics.broadcast(watch.model)) is not None:
                self._fingerprint("buffers_broadcast", value=float(sent))
        if watch.trained_by(optimizer):  # it was not known: its state may have been restored
            what, text = model_hash.optimizer_hash(optimizer)
            self._fingerprint(what, text=text)
        first = later.gradients_since
        if first is not None and first < self._step:
            for row in later_gradients.gradient_rows(watch.model, optimizer):
                self._append("gradients", (*self._key, self._step, *row))

    def _leave_gradients(self) -> None:
        if self._gradients is not None:
            self._gradients.leave()
            self._gradients = None

    def _leave_later_steps(self) -> None:
        if self._later_steps is not None:
            self._later_steps.leave()
            self._later_steps = None

    @_shielded
    def dataset(self, size: int) -> None:
        """See `Probe.dataset`."""
        self._fingerprint("dataset_size", value=_values.as_count("size", size))

    @_shielded
    def example(
        self, id: Any, score: Any, *, prediction: Any = None, target: Any = None, metric: str = "accuracy", cluster: Any = None
    ) -> None:
        """See `Probe.example`."""
        text = _values.as_text
        row = (metric, str(text(id)), text(prediction), text(target), _values.as_number(score), text(cluster))
        self._append("examples", (*self._key, *row))

    @_shielded
    def examples(
        self, ids: Any, scores: Any, *, predictions: Any = None, targets: Any = None, metric: str = "accuracy", cluster: Any = None
    ) -> None:
        """See `Probe.examples`."""
        ids = _values.as_list(ids)
        clusters = [cluster] * len(ids) if isinstance(cluster, str | int) else cluster
        columns = [
            _values.as_list(column) if column is not None else [None] * len(ids) for column in (scores, predictions, targets, clusters)
        ]
        # Before the first is written: the beginning of a held-out set must not pass for all of it.
        if any(len(column) != len(ids) for column in columns):
            found = ", ".join(str(len(column)) for column in columns)
            raise ValueError(f"{len(ids)} ids, but {found} scores, predictions, targets, clusters; give as many of each")
        for id, score, prediction, target, group in zip(ids, *columns, strict=True):
            self.example(id, score, prediction=prediction, target=target, metric=metric, cluster=group)

    def _fingerprint(self, what: str, *, value: float | None = None, text: str | None = None) -> None:
        self._append("fingerprints", (*self._key, self._step, what, value, text))

    def _hash(self, watch: model_hash.Watch) -> None:
        """Hash the model now. A model that cannot be hashed is said to be so; the rest is still recorded."""
        begin = self._now()
        try:
            if self._step == 0 and self._gradients is not None and (self.workers == 1 or watch.sharded):
                self._starts = gradients.starts(watch.model)
            for what, text in watch.hashes(self._step):
                self._fingerprint(what, text=text)
            if (found := batch_statistics.statistics(watch.model)) is not None:
                self._append("fingerprints", (*self._key, self._step, "batch_statistics", *found))
            rate = watch.learning_rate()
            if rate is not None:
                self._fingerprint("learning_rate", value=rate)
            if self.states is not None and self.went_on is not None and self.went_on.step is not None:
                self.states.note(watch.model, self._step)
        except Exception as error:
            self._watching = None
            _say(f"the model's parameters are not compared between replicas: {type(error).__name__}: {error}")
        self._hash_ns += self._now() - begin

    # ------------------------------------------------------------------ begin and end

    def reached(self, step: int, made: int) -> None:
        """This rank ends now, after as many steps as were asked for."""
        self._event(STEPS_REACHED, self._now(), step=step, value=float(made))

    def counts_work(self, environ: Mapping[str, str]) -> None:
        """Count the operations of the first step, and profile some later ones, where the launch asks for it."""
        asked = asked_of(environ)
        if asked is not None:
            self._profiled = Profiled(asked, self.rank, self._event)
        if environ.get("ASSAY_FLOPS") == "1":
            peak, _, precision = environ.get("ASSAY_PEAK", "").partition(":")
            self._work = WorkOfAStep(measures_peak=peak == "measured", precision=precision)

    def begin(self, cost_ns: float, calibration_steps: int) -> None:
        """Record the start of this worker and what the probe costs here."""
        detail = {"pid": os.getpid(), "world_size": self.workers, "process_start_ns": process_start_ns(), "boot_id": clock_pings.boot_id()}
        self._event("worker_start", self._now(), detail=detail)
        self.cost_ns = cost_ns
        self._cost("cost_per_step", cost_ns, "ns")
        self._cost("calibration_steps", calibration_steps, "steps")

    def looks_at_clocks(self, folder: Path, environ: Mapping[str, str]) -> None:
        """Compare the clocks of the hosts, where there are several; a job whose clocks cannot be compared is recorded all the same."""
        try:
            self._last_look = clock_pings.begin(folder, environ, self._append, self._key, self._identity.host)
        except OSError as error:
            _say(f"the clocks of the hosts are not compared: {type(error).__name__}: {error}")

    def costs(self, cost_ns: float, steps: int) -> None:
        """What measuring by hooks cost a step: the median of so many of its last steps."""
        self._cost("cost_per_step", cost_ns, "ns")
        self._cost("own_steps", steps, "steps")

    def logs_every(self, steps: int) -> None:
        """DistributedDataParallel's own log was read of every so many steps."""
        self._cost("ddp_logging_every", steps, "steps")

    def _cost(self, counter: str, value: float, unit: str) -> None:
        row = (self._key[0], self._now(), self._identity.host, "probe", counter, float(value), unit, "self")
        self._append("telemetry", row)

    def close(self) -> None:
        """See `Probe.close`."""
        self._end(None)

    @_shielded
    def _end(self, error: str | None) -> None:
        self.leave(self._loop, failed=error is not None)
        if error is None:
            self._release()
        elif self._held is not None:  # it cut that step short: the row is never told
            self._step = self._held[0]
        if self._communication is not None:
            self._communication.close()
        if self._profiled is not None:
            self._profiled.close()
        if self._watch is not None and self._watch.hashed != self._step:
            self._hash(self._watch)
        if self._later is not None:
            self._later.drain()
        flushed = self._sink.flush_cpu_ns()
        if flushed is not None:
            self._cost("flush_cpu", flushed, "ns")
        self._cost("hash_total", self._hash_ns, "ns")
        self._tell_memory()
        self._tell_inventory()
        if not self._first_step_seen:
            self._tell_unseen()
        self._event("worker_end", self._now(), step=self._step, detail={"error": error} if error else {})
        self._last_look()
        self._stop()

    def _tell_unseen(self) -> None:
        """Why this worker has no steps, where torch was imported: a script without torch has none to be seen."""
        hooks = sys.modules.get("assay.instruments.attach")
        if hooks is not None and "torch" in sys.modules:
            self._event("steps_unseen", self._now(), detail={"why": hooks.unseen()})

    def _tell_memory(self) -> None:
        """The most that this rank needed of the host and of its devices."""
        launch, host, now = self._key[0], self._identity.host, self._now()
        with suppress(Exception):  # a device that failed does not answer; then its peak is absent
            for device, counter, most in peak_memory.peaks(sys.modules.get("torch")):
                row = (launch, now, host, f"rank-{self.rank}/{device}", counter, float(most), "B", "self")
                self._append("telemetry", row)

    def _tell_inventory(self) -> None:
        """The collectives that torch itself lists of the last steps."""
        torch = sys.modules.get("torch")
        found = read_at_end(self._flights, torch) if self._flights is not None and torch is not None else None
        if found is None:
            return
        rows, told = found
        for row in rows:
            self._append("inventory", (*self._key, *row))
        self._event("flight_recorder", self._now(), value=float(told["entries"]), detail=told)

    def _stop(self) -> None:
        self.active = False
        self._leave_gradients()
        self._leave_later_steps()
        self._watching = None
        self._named = dict.fromkeys(self._named, _NOTHING)
        self._on_close()
        self._sink.close()

    def fail(self, error: Exception, where: str = "") -> None:
        """End the recording, not the training; say so once, here and in the record, with the call that met the error."""
        if not self.active:
            return
        self.active = False
        what = f"{where}{': ' if where else ''}{type(error).__name__}: {error}"
        _say(f"the probe of rank {self.rank} stopped recording at step {self._step}; the training goes on. {what}")
        try:
            self._release()
            self._event("probe_error", self._now(), step=self._step, detail={"error": what})
            self._stop()
        except Exception as again:
            _say(f"nor could it close its files: {type(again).__name__}: {again}")

    def __enter__(self) -> Self:
        self._entered += 1
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        self._entered -= 1
        if self._entered <= 0:
            self._end(None if kind is None else kind.__name__)


def open_recorder(folder: str, environ: Mapping[str, str], *, on_close: Callable[[], None]) -> Recorder:
    """The recording probe of this worker.

    Raises:
        OSError: the launch's folder cannot be written.
        ValueError: a variable of the environment is not a number.
    """
    identity = identity_from(environ)
    cost, steps = cost_per_step(Recorder(identity, MemorySink()))
    sink = LaunchSink(Path(folder), identity, flush_s=float(environ.get("ASSAY_FLUSH_S") or 0.5))
    recorder = Recorder(identity, sink, on_close=on_close)
    if environ.get("ASSAY_RESTARTS") == "1":
        recorder.states = States(Path(folder), identity.rank, identity.incarnation)
    recorder.counts_work(environ)
    recorder.limit = limit_from(environ, Path(folder), recorder, identity.incarnation)
    recorder.begin(cost, steps)
    recorder.looks_at_clocks(Path(folder), environ)
    atexit.register(_end_at_exit, recorder)
    os._exit = _ending_first(recorder, os._exit)  # type: ignore[assignment]
    return recorder


def _no_look() -> None:
    """There is no other host."""


def _end_at_exit(recorder: Recorder) -> None:
    """The process ends; an exception that nobody caught is named."""
    uncaught = getattr(sys, "last_type", None)
    recorder._end(uncaught.__name__ if uncaught is not None else None)


def _ending_first(recorder: Recorder, exits: Callable[[int], NoReturn]) -> Callable[[int], NoReturn]:
    """`os._exit` runs nothing that was registered, and scripts end by it so as not to wait for an engine's threads: end the recording
    before, in a thread of its own, for which nobody waits for long."""
    own = os.getpid()

    @functools.wraps(exits)
    def _exit(status: int) -> NoReturn:
        if recorder.active and os.getpid() == own:  # a forked child's end is not this process's
            with suppress(Exception):
                ending = threading.Thread(target=_end_quickly, args=(recorder, status), daemon=True)
                ending.start()
                ending.join(PATIENCE_S)
        exits(status)

    return _exit


def _end_quickly(recorder: Recorder, status: int) -> None:
    hooks = sys.modules.get("assay.instruments.attach")
    attached = hooks.current() if hooks is not None else None
    if attached is not None:
        attached.close()
    recorder._end(f"os._exit({status})" if status else None)


def _say(sentence: str) -> None:
    with suppress(OSError, ValueError, AttributeError):  # standard error may be closed
        print(f"assay: {sentence}", file=sys.stderr, flush=True)
