"""What is a recorder's state, how does it write rows, and how does it handle its own errors?

An error in here is printed once on stderr and ends the recording, never the training.
"""

from __future__ import annotations

import json
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from types import MappingProxyType
from typing import Any, Protocol

from fireassay.instruments import tracker_runs
from fireassay.instruments.fingerprints import batch_contents
from fireassay.instruments.hooks.batches import tensors
from fireassay.instruments.recorder import peak_memory
from fireassay.instruments.recorder import values as _values
from fireassay.instruments.recorder.cuda_events import CudaPhases, Later
from fireassay.instruments.recorder.flight_recorder import Flights
from fireassay.instruments.recorder.held_step import HeldStep
from fireassay.instruments.recorder.inactive import Probe
from fireassay.instruments.recorder.launch_end import Append, LaunchEnd, say
from fireassay.instruments.recorder.phases import NAMES, HostPhases, Times
from fireassay.instruments.recorder.profiler import Profiled
from fireassay.instruments.recorder.shield import shielded
from fireassay.instruments.recorder.sink import Identity, Sink
from fireassay.instruments.recorder.step_limit import StepLimit
from fireassay.instruments.recorder.step_rows import StepRows
from fireassay.instruments.recorder.step_work import WorkOfAStep
from fireassay.instruments.recorder.watched_model import WatchedModel

NOTHING: AbstractContextManager[None] = nullcontext()
MEMORY_FROM = 16  # steps


class Communication(Protocol):
    """Observes communication in a script that marks its steps (`marked_steps`)."""

    def begun(self) -> None:
        """A loop over steps begins."""
        ...

    def ended(self) -> None:
        """The current step ends."""
        ...

    def close(self) -> None:
        """The recording ends."""
        ...


class Hooks(Protocol):
    """Observe the steps of a script without marks (`hooks/steps`)."""

    @property
    def items(self) -> float | None:
        """Units of work in the current step."""

    @property
    def batches(self) -> int:
        """Batches used in the current step."""

    @property
    def updated(self) -> bool:
        """True if an optimizer has stepped in the current step."""

    def paused(self, now: int) -> None:
        """The phases' clock stops."""

    def resumed(self, now: int, since: int | None, ns: int) -> None:
        """It continues; `since`: the start of a reported pause."""

    def set_aside(self, ns: int, since: int | None = None) -> None:
        """Exclude other work from the current step; `since`: the start of a reported pause."""

    def expect_work(self) -> None:
        """Something is due when the current step ends."""

    def silence(self) -> None:
        """Stop recording."""

    def read(self) -> None:
        """Read the events so far."""

    def read_before_writing(self) -> None:
        """The same, in the writing thread."""

    def close(self) -> None:
        """The process ends."""


class RecorderState(Probe, ABC):
    """The state of a recording, and its rows."""

    def __init__(
        self, identity: Identity, sink: Sink, *, now: Callable[[], int] = time.monotonic_ns, on_close: Callable[[], None] = lambda: None
    ) -> None:
        self.active = True
        self.seed, self.rank, self.workers = identity.seed, identity.rank, identity.workers
        self._identity, self._sink, self._now, self._on_close = identity, sink, now, on_close
        self.now = now
        self._key = self.key = (identity.launch, identity.rank, identity.incarnation)
        self.append: Append = sink.append
        self._append = sink.append
        self._phases: HostPhases | CudaPhases = HostPhases(now, self._step_row)
        self._named: Mapping[str, AbstractContextManager[None]] = self._phases.named
        self._later: Later | None = None  # values that a GPU still computes
        self._hooks: Hooks | None = None  # in a script without marks
        self._busy = True  # more is due between the steps that hooks observe than writing a row
        self.rows = StepRows(self._key, identity.host, sink.append, self._step_loss)
        self.cost_ns = 0.0  # measured cost of marking a step
        self._communication: Communication | None = None  # of a script that marks its own steps
        self._work: WorkOfAStep | None = None  # counts the first step's FLOPs
        self._profiled: Profiled | None = None  # in profiled launches, which are not timed
        self.limit: StepLimit | None = None  # of a job that ends early
        self._entered = 0
        self._flights = Flights(now, self.workers) if self.workers > 1 else None  # for torch's own list of collectives
        self.launch, self.model = LaunchEnd(identity, sink.append, now), WatchedModel(self, now)
        self.ends_at: int | None = None  # end of the last step, if reported from outside
        self._first_step_seen = False
        self.step_number = 0  # number of the current step = steps finished before it
        self._loop = 0  # number of the current `steps` loop
        self._epoch = 0
        self._in_step = False
        self._held = HeldStep()
        self._saved = False  # whether a checkpoint was saved since the last step ended
        self._saved_after: int | None = None  # number of steps at the last save
        self._touched = False  # whether samples or log were called in the current step
        self._marks_optimizer = False  # whether any step so far marked its optimizer
        self.begin_ns = 0  # where it begins
        self.report_step = sink.step
        self._data: int | None = None
        self._pause: int | None = None
        self._exposed: int | None = None
        self._items: float | None = None
        self._tracker_runs: list[tracker_runs.Run] = []

    @property
    def in_step(self) -> bool:
        """True if a marked step is under way."""
        return self._in_step

    @property
    def open_phase(self) -> str | None:
        """The innermost marked phase."""
        return NAMES[self._phases.stack[-1]] if self._phases.stack else None

    def exposed(self, ns: int | None) -> None:
        """The current step's exposed communication."""
        self._exposed = ns

    @property
    def written_ns(self) -> int:
        """Processor time of writing so far, outside the training thread."""
        return self._sink.flush_cpu_ns() or 0

    @property
    def on_gpu(self) -> bool:
        """True if phases are timed on a GPU."""
        return self._later is not None

    @property
    def paused(self) -> bool:
        """True if training is paused within a step."""
        return bool(self._phases.paused)

    @property
    def any_update(self) -> bool:
        """True if an optimizer has stepped in an earlier step."""
        return self._marks_optimizer

    @property
    def phases_beside(self) -> Mapping[str, AbstractContextManager[None]] | None:
        """Phases that hooks enter beside their events: on a GPU, which times them itself, and in a step whose operations are counted."""
        return self._named if self._later is not None or self._work is not None else None

    @property
    def batches_so_far(self) -> int:
        """Batches used in the current step, if hooks see them."""
        return 0 if self._hooks is None else self._hooks.batches

    def expect_work(self) -> None:
        """Something is due when the current step ends."""
        self._busy = True
        if self._hooks is not None:
            self._hooks.expect_work()

    def _stop_phases(self) -> None:
        """Training pauses."""
        self._phases.pause()
        if self._hooks is not None:
            self._hooks.paused(self._now())

    def _go_on_with_phases(self, since: int | None, ns: int) -> None:
        """It continues after so long; `since`: the start of a reported pause."""
        self._phases.resume()
        if self._hooks is not None:
            self._hooks.resumed(self._now(), since, ns)
        elif self._in_step and not self._phases.paused:
            self._pause = (self._pause or 0) + ns

    def _add_pause(self, ns: int, since: int | None = None) -> None:
        """Exclude other work from the current step; `since`: the start of a reported pause."""
        if self._hooks is not None:
            self._hooks.set_aside(ns, since)
        elif self._in_step:
            self._pause = (self._pause or 0) + ns

    def _step_loss(self, step: int, value: Any) -> None:
        self._number("loss", value, step)

    def _number(self, what: str, value: Any, step: int | None = None) -> None:
        """Read the value now if that does not block, else once the GPU has computed it."""
        key = (*self._key, self.step_number if step is None else step, what)
        if self._later is not None and _values.on_cuda(value):
            self._later.number(value.reshape(()), lambda x: self._append("fingerprints", (*key, float(x), None)))
        else:
            self._append("fingerprints", (*key, _values.as_number(value), None))

    def event(
        self,
        kind: str,
        ns: int,
        duration: int | None = None,
        *,
        step: int | None = None,
        value: float | None = None,
        detail: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """Record an event."""
        launch, rank, incarnation = self._key
        host, text = self._identity.host, json.dumps(dict(detail))
        self._append("events", (launch, ns, duration, host, rank, incarnation, kind, step, value, text))

    @shielded
    def evaluate(self, step: int, score: Any, *, name: str = "accuracy", samples: float | None = None) -> None:
        """See `Probe.evaluate`."""
        self.scored(name, score, step=int(step), source="script", samples=samples)

    def scored(self, name: str, score: Any, *, step: int | None, source: str, samples: float | None = None) -> None:
        """Record the score of an evaluation, as `fireassay.frames.training.evaluated_scores` reads it.

        Args:
            name: of the score.
            score: a number, or a tensor of one.
            step: as the script counts; None: it gave none.
            source: script, or where it was found: printed, tensorboard, wandb ...
            samples: training samples used so far by all ranks, if the script counts them.

        Raises:
            TypeError, ValueError: the score or the samples are not a number.
        """
        value = _values.as_number(score)  # on a GPU it exists once it was read
        detail: dict[str, Any] = {"name": str(name), "source": source}
        if samples is not None:
            detail["samples"] = _values.as_count("samples", samples)
        if (steps := self._finished()) or self._first_step_seen:
            detail["steps"] = steps
        self.event("score", self._now(), step=step, value=value, detail=detail)

    @shielded
    def unknown_samples(self, reason: str) -> None:
        """The samples of this launch are unknown."""
        self.event("samples_unknown", self._now(), step=self.step_number, detail={"reason": reason})

    def communicated(
        self,
        method: str,
        *,
        total: int | None = None,
        exposed: int | None = None,
        compute: int | None = None,
        nbytes: int | None = None,
        ago: int = 0,
    ) -> None:
        """Record the communication of the current step, or of an earlier one, by one method."""
        self._append("communication", (*self._key, self.step_number - ago, method, total, exposed, compute, nbytes))

    def collective(self, call: Any, phase: str, method: str) -> None:
        """Record a finished collective."""
        where = (call.group, call.number, call.step)
        what = (call.op, call.size, call.nbytes, call.dtype, phase, None, call.begin, call.end, call.blocked)
        self._append("collectives", (*self._key, *where, *what, None, None, method))

    def _record_first(self, step: int, begin: int, end: int) -> None:
        if not self._first_step_seen:
            self._first_step_seen = True
            self.event("first_step", begin, end - begin, step=step)
            self.note_trackers()

    def note_trackers(self, trackers: Iterable[Any] = ()) -> None:
        """Record each tracker's run that rank 0 logs to, once; `trackers`: what a framework logs with."""
        for run in tracker_runs.seen(trackers) if self.rank == 0 and self.active else ():
            if run not in self._tracker_runs:
                self._tracker_runs.append(run)
                self.event(tracker_runs.KIND, self._now(), detail=run)

    def note_memory(self, step: int, *, last: bool = False) -> bool:
        """Record this rank's memory after 16, 32, 64 ... steps, and after the last. Whether it was due."""
        if step < MEMORY_FROM or (step & (step - 1) and not last):
            return False
        if (size := peak_memory.resident_now()) is not None:
            self.event("memory", self._now(), step=step, value=float(size))
        return True

    @shielded
    def note_contents(self, batch: Any) -> None:
        """Record digests of the rows of a marked step's batch."""
        torch = sys.modules.get("torch")
        if torch is None or not (several := tensors(batch, torch.Tensor)):
            return
        with self.set_aside_hashing():
            text = batch_contents.text(several)
        if text is not None:
            self._fingerprint(batch_contents.BATCH, text=text)

    def before_flush(self, deliver: Callable[[], None]) -> None:
        """Register a callback that delivers held-back rows before a flush."""
        self._sink.before_flush(deliver)

    @contextmanager
    def set_aside_hashing(self) -> Iterator[None]:
        """Exclude the work in this block from training time."""
        self._stop_phases()
        begin = self._now()  # inside the pause: the time between two clock readings must not count twice
        yield
        spent = self._now() - begin
        self.model.hash_ns += spent
        self._go_on_with_phases(None, spent)

    def _fingerprint(self, what: str, *, value: float | None = None, text: str | None = None) -> None:
        self._append("fingerprints", (*self._key, self.step_number, what, value, text))

    def fail(self, error: Exception, where: str = "") -> None:
        """End the recording, not the training; report it once, on stderr and in the record, with the failing call."""
        if not self.active:
            return
        if self._hooks is not None:
            with suppress(Exception):
                self._hooks.read()
        self._deactivate()
        what = f"{where}{': ' if where else ''}{type(error).__name__}: {error}"
        say(f"the probe of rank {self.rank} stopped recording at step {self.step_number}; training continues. {what}")
        try:
            self._release()
            self.event("probe_error", self._now(), step=self.step_number, detail={"error": what})
            self._stop()
        except Exception as again:
            say(f"its files could not be closed either: {type(again).__name__}: {again}")

    def _deactivate(self) -> None:
        self.active = False
        if self._hooks is not None:
            self._hooks.silence()

    @abstractmethod
    def _step_row(self, fields: tuple[Any, ...], times: Times, method: str) -> None: ...

    @abstractmethod
    def _finished(self) -> int: ...

    @abstractmethod
    def _release(self) -> None: ...

    @abstractmethod
    def _stop(self) -> None: ...
