"""What does the probe record inside a launch, and when?

Steps: a step's end is the next one's start, so no time is lost between steps. Two things are excluded from both: hashing the model
and writing the rows up to a saved checkpoint. Those rows are written at once: a checkpoint's steps are never repeated after a kill,
so without the rows the samples of a killed worker would look lost.
Saving or loading a checkpoint and evaluating inside a step are pauses: their time goes into the step's `checkpoint_ns`, which readers
subtract from the step's time; events say which kind it was. (Ending the step at the evaluation would lose the training of a script
that evaluates first and marks no phases.)
A loop left early (break, exception): its last step counts if its optimizer phase ran, or, in a script without phases, if anything was
marked in it and the script went on (`held_step`).

Time: `time.monotonic_ns` is called directly, not through `fireassay.clock`, because here an extra call per reading would be part of the
measurement. It is the same clock.
Errors: an error in here is printed once on stderr and ends the recording, never the training.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from types import MappingProxyType, TracebackType
from typing import Any, Self

from fireassay.instruments.recorder import values as _values
from fireassay.instruments.recorder.cuda_events import CudaPhases, Later, uses_cuda
from fireassay.instruments.recorder.inactive import Batch, PhaseName, RandomState
from fireassay.instruments.recorder.launch_end import say, why_unseen
from fireassay.instruments.recorder.phases import NAMES, OPTIMIZER, Times
from fireassay.instruments.recorder.profiler import Profiled, requested_profile
from fireassay.instruments.recorder.recorder_state import NOTHING, Communication, Hooks, RecorderState
from fireassay.instruments.recorder.shield import shielded
from fireassay.instruments.recorder.step_iterator import Pause, Steps
from fireassay.instruments.recorder.step_limit import KIND as STEPS_REACHED
from fireassay.instruments.recorder.step_work import WorkOfAStep


class Recorder(RecorderState):
    """The probe that records."""

    # ------------------------------------------------------------------ the loop

    def steps(self, loader: Iterable[Batch], *, epoch: int = 0, start: int = 0) -> Iterator[Batch]:
        """See `Probe.steps`."""
        self._begin_loop(epoch, start)
        return Steps(self, loader, self._loop)

    @shielded
    def _begin_loop(self, epoch: int, start: int) -> None:
        self.leave(self._loop)
        self._release()
        self._choose_phases()
        self._loop += 1
        self._epoch = int(epoch)
        self.step_number = max(self.step_number, int(start))
        if not self.step_number:
            self.step_number = self.model.go_on(self.step_number, numbered=True)
        if self._work is not None:
            self._named = self._work.begin(self._named, self._device)
        if self._profiled is not None:
            self._profiled.begin(self.step_number)
        if self._communication is not None:
            self._communication.begun()
        self.next_step()

    def next_step(self, at: int | None = None) -> None:
        """Request the next batch (at `at`, default now): the current step ends and the next begins."""
        try:
            now = self._now() if at is None else at
            if self._in_step:
                self._end_step(now)
            self._between_steps(now)
            self.end_if_limited()
        except Exception as error:
            self.fail(error)

    def _between_steps(self, now: int) -> None:
        """Do what is due between two steps, and begin the next."""
        if self._profiled is not None and self._profiled.due:
            self._profiled.ended()
            now = self._now()
        if self._work is not None and self._work.step_over:
            self._named, self._work = self._work.finish(self.event), None
            now = self._now()
        if self._saved:
            self._saved = False
            self._sink.flush()
            now = self._now()
        if self.model.hash_if_due(self.step_number):
            now = self._now()
        if self.note_memory(self.step_number):
            now = self._now()
        later = self.model.later_steps
        if later is not None and self.step_number >= later.next:
            self.model.wait_for_optimizer(later)
            now = self._now()
        self.begin_ns = now

    @property
    def _device(self) -> str | None:
        """The kind of device that holds the watched model, if any."""
        watch = self.model.current
        return None if watch is None else watch.device

    def end_if_limited(self) -> None:
        """End the process after its last step."""
        if self.limit is not None and self.limit.reached(self.step_number):
            self.limit.end(self.step_number)

    def batch_ready(self, batch: Any) -> None:
        """The batch has arrived."""
        try:
            self._data = self._now() - self.begin_ns
            self._items = _values.batch_items(batch)
            self._pause = self._exposed = None
            self._touched = False
            self._phases.clear()
            self._in_step = True
        except Exception as error:
            self.fail(error)

    # ------------------------------------------------------------------ steps that hooks observe (`hooks/steps`)

    def observe(self, hooks: Hooks) -> None:
        """Hooks give the steps; their events are read before rows are written."""
        self._hooks = hooks
        self._sink.before_flush(hooks.read_before_writing)

    def goes_unobserved(self) -> None:
        """The script marks its own steps from now on."""
        if self._hooks is not None:
            self._hooks.read()
            self._hooks = None

    def begin_outside(self) -> int:
        """Begin the first step that hooks observe; returns its start."""
        self._begin_loop(0, 0)
        return self.begin_ns

    def turned(self, end: int) -> int:
        """The current step has ended; returns where the next begins, after the work between the two."""
        step, begin = self.step_number, self.begin_ns
        self.step_number = after = step + 1
        self.report_step(after, end)
        if self._flights is not None:
            self._flights.ended((step, begin, end))
        later = self.model.later_steps
        if not self._busy and after & step and (later is None or after < later.next):
            self.begin_ns = end
            return end
        self._marks_optimizer = True
        self._step_over(step, begin, end)
        self._between_steps(self._now() if self._busy else end)
        self._busy = any(item is not None for item in (self._work, self._profiled, self._later))
        return self.begin_ns

    def plain_until(self, step: int) -> int:
        """The next step at whose start something may be due."""
        later, limit = self.model.later_steps, self.limit
        known = [1 << step.bit_length(), (step | 15) + 1]  # hashes, and the hooks' own cost
        if later is not None:
            known.append(later.next)
        if limit is not None and limit.last is not None:
            known.append(step + 1 if limit.timed else limit.last)
        return 0 if self._busy else min(known)

    def ended(self, end: int) -> None:
        """The last step has ended."""
        step, begin = self.step_number, self.begin_ns
        self.step_number = step + 1
        self.report_step(step + 1, end)
        if self._flights is not None:
            self._flights.ended((step, begin, end))
        self._step_over(step, begin, end)

    def _step_over(self, step: int, begin: int, end: int) -> None:
        assert self._hooks is not None
        if self.on_gpu:
            self._phases.finish((step,))
        self._phases.clear()
        if self._work is not None:
            self._work.end_step(step, self._hooks.items)
        if self._profiled is not None:
            self._profiled.over()
        self._record_first(step, begin, end)
        if self._later is not None:
            self._later.poll()

    def withdraw(self) -> None:
        """Drop the current step: its bounds are unknown, or it has not begun yet."""
        self._in_step = False
        if self._work is not None:
            self._named = self._work.withdraw(self._named)

    def attach_communication(self, communication: Communication) -> None:
        """Attach an observer of communication to a script that marks its steps."""
        self._communication = communication

    def set_aside(self, kind: str, begin: int, ns: int, detail: Mapping[str, Any] = MappingProxyType({})) -> None:
        """Exclude a part of the current step from training time."""
        self._add_pause(ns, begin)
        self.event(kind, begin, ns, step=self.step_number, detail=detail)

    def watched(self, model: Any) -> None:
        """Watch a model from inside the first step, before it has changed; hashing is not training time."""
        self.watch(model)
        self.step_number = self.model.go_on(self.step_number)
        if self._choose_phases() and self._work is not None:  # CUDA was initialised since the step began
            self._named = self._work.begin_again(self._named, self._device)
        if self.model.due(self.step_number):
            before = self.model.hash_ns
            self._stop_phases()
            self.model.hash_if_due(self.step_number)
            self._go_on_with_phases(None, self.model.hash_ns - before)

    def leave(self, loop: int, *, failed: bool = False) -> None:
        """The loop ended before its loader: on purpose after a step, or by a failure within one."""
        if not self._in_step or loop != self._loop:
            return
        if self._phases.seen[OPTIMIZER]:
            self._end_step(self.ends_at or self._now())
        elif not failed and not self._marks_optimizer and (self._touched or any(self._phases.seen)):
            now = self._now()
            self._held.bounds = (self.step_number, self.begin_ns, now)
            self._end_step(now)
        self._in_step = False

    def _release(self) -> None:
        """The script went on after leaving the loop: its last step counts."""
        if (bounds := self._held.bounds) is not None:
            for row in self._held.release():
                self._append("steps", row)
            self._record_end(*bounds)

    def _end_step(self, end: int) -> None:
        step = self.step_number
        if self._communication is not None:
            self._communication.ended()
        self._in_step = False
        self.step_number = step + 1
        self._marks_optimizer = self._marks_optimizer or self._phases.seen[OPTIMIZER]
        if self._flights is not None:
            self._flights.ended((step, self.begin_ns, end))
        self._phases.finish((step, self.begin_ns, end, self._data, self._pause, self._exposed, self._items))
        if self._work is not None:
            self._work.end_step(step, self._items)
        if self._profiled is not None:
            self._profiled.over()
        if self._held.bounds is None:
            self._record_end(step, self.begin_ns, end)
        if self._later is not None:
            self._later.poll()

    def _record_end(self, step: int, begin: int, end: int) -> None:
        self.report_step(step + 1, end)
        self._record_first(step, begin, end)

    def _step_row(self, fields: tuple[Any, ...], times: Times, method: str) -> None:
        if self._hooks is not None:
            self.rows.timed(fields[0], times, method)
            return
        row = (*self._key, *fields[:4], *times, *fields[4:], method)
        if not self._held.keeps(fields[0], row):
            self._append("steps", row)

    def _choose_phases(self) -> bool:
        """Switch to CUDA events if training runs on a GPU. Whether anything changed."""
        torch = sys.modules.get("torch")
        if torch is None or self._later is not None:
            return False
        if not uses_cuda(torch, self._device):
            return False
        if self._hooks is not None:
            self._hooks.read()
            self.rows.gpu_times = {}
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
            say(f"probe.phase: found {name!r}; allowed: {allowed}. This phase is not timed; use one of these names.")
            self._named = {**self._named, str(name): NOTHING}
        return NOTHING

    @shielded
    def samples(self, ids: Any) -> None:
        """See `Probe.samples`."""
        self._touched = True
        key = (*self._key, self._epoch, self.step_number)
        if self._later is not None and _values.on_cuda(ids):
            self._later.number(ids.reshape(-1), lambda values: self._append("samples", (*key, values)))
        else:
            self._append("samples", (*key, _values.as_ids(ids)))

    @shielded
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

    # ------------------------------------------------------------------ pauses and events

    def checkpoint_save(self) -> AbstractContextManager[None]:
        """See `Probe.checkpoint_save`."""
        return Pause(self, "checkpoint_save") if self.active else NOTHING

    def checkpoint_load(self) -> AbstractContextManager[None]:
        """See `Probe.checkpoint_load`."""
        return Pause(self, "checkpoint_load") if self.active else NOTHING

    def evaluation(self) -> AbstractContextManager[None]:
        """See `Probe.evaluation`."""
        return Pause(self, "evaluation") if self.active else NOTHING

    def pause(self, kind: str = "") -> int:
        """Begin a pause; returns its start."""
        try:
            self._release()
            self._stop_phases()
            if kind == "checkpoint_save":
                self._sink.saving(True)
            return self._now()
        except Exception as error:
            self.fail(error)
            return 0

    @shielded
    def resume(self, kind: str, begin: int, succeeded: bool, detail: Mapping[str, Any] = MappingProxyType({})) -> None:
        """End a pause; it leaves an event only without an exception."""
        self._go_on_with_phases(begin, duration := self._now() - begin)
        if kind == "checkpoint_save":
            self._sink.saving(False)
        if succeeded:
            steps = self._finished()
            self.event(kind, begin, duration, step=steps, detail=detail)
            if kind == "checkpoint_save":
                self._has_saved(steps)

    @shielded
    def saved(self, begin: int, ns: int, detail: Mapping[str, Any] = MappingProxyType({}), *, beside: bool = False) -> None:
        """Record a checkpoint already saved in the current step; `beside`: in another thread, while training went on."""
        steps = self._finished()
        if not beside:
            self._add_pause(ns, begin)
        self.event("checkpoint_save", begin, ns, step=steps, detail=detail)
        self._has_saved(steps, noted=not beside)

    def _has_saved(self, steps: int, *, noted: bool = True) -> None:
        """Count several files after the same step as one checkpoint."""
        if noted:
            self.model.has_saved(steps)
        if steps != self._saved_after:
            self._saved_after = steps
            self._sink.checkpoint(steps)
        self._saved = True
        self.expect_work()

    def _finished(self) -> int:
        """Steps finished; the current step counts once its optimizer is done."""
        if self._hooks is not None:
            return self.step_number + self._hooks.updated
        if not self._in_step:
            return self.step_number
        return self.step_number + 1 if self._phases.seen[OPTIMIZER] or not self._marks_optimizer else self.step_number

    @shielded
    def useful_work(self, n: float) -> None:
        """See `Probe.useful_work`."""
        if self.rank == 0:
            self.event("useful_work", self._now(), value=_values.as_count("n", n))

    # ------------------------------------------------------------------ the model, the data, the scores

    @shielded
    def watch(self, model: Any, *, random: RandomState | None = None) -> None:
        """See `Probe.watch`."""
        self.model.watch(model, random)

    @shielded
    def gradients(self, named: Mapping[str, Any]) -> None:
        """See `Probe.gradients`."""
        self.model.gradients(named)

    @shielded
    def dataset(self, size: int) -> None:
        """See `Probe.dataset`."""
        self._fingerprint("dataset_size", value=_values.as_count("size", size))

    @shielded
    def example(
        self, id: Any, score: Any, *, prediction: Any = None, target: Any = None, metric: str = "accuracy", cluster: Any = None
    ) -> None:
        """See `Probe.example`."""
        self._append("examples", (*self._key, *_values.example_row(id, score, prediction, target, metric, cluster)))

    @shielded
    def examples(
        self, ids: Any, scores: Any, *, predictions: Any = None, targets: Any = None, metric: str = "accuracy", cluster: Any = None
    ) -> None:
        """See `Probe.examples`."""
        for id, score, prediction, target, group in _values.aligned(ids, scores, predictions, targets, cluster):
            self.example(id, score, prediction=prediction, target=target, metric=metric, cluster=group)

    # ------------------------------------------------------------------ start and end

    def reached(self, step: int, made: int) -> None:
        """End this rank after the requested number of steps."""
        self.event(STEPS_REACHED, self._now(), step=step, value=float(made))

    def counts_work(self, environ: Mapping[str, str]) -> None:
        """Count the FLOPs of the first step, and profile some later ones, if the launch requests it."""
        request = requested_profile(environ)
        if request is not None:
            self._profiled = Profiled(request, self.rank, self.event)
        if environ.get("FIREASSAY_FLOPS") == "1":
            peak, _, precision = environ.get("FIREASSAY_PEAK", "").partition(":")
            self._work = WorkOfAStep(measures_peak=peak == "measured", precision=precision)

    def begin(self, cost_ns: float, calibration_steps: int) -> None:
        """Record this worker's start and the probe's cost."""
        self.event("worker_start", self._now(), detail=self.launch.start())
        self.cost_ns = cost_ns
        self.launch.cost("cost_per_step", cost_ns, "ns")
        self.launch.cost("calibration_steps", calibration_steps, "steps")

    def costs(self, cost_ns: float, steps: int) -> None:
        """Record the hooks' cost per step, and of how many steps."""
        self.launch.cost("cost_per_step", cost_ns, "ns")
        self.launch.cost("own_steps", steps, "steps")

    def close(self) -> None:
        """See `Probe.close`."""
        self.end(None)

    @shielded
    def end(self, error: str | None) -> None:
        """Record the end of this worker, and with which error."""
        if self._hooks is not None:
            self._hooks.close()
        self.leave(self._loop, failed=error is not None)
        if error is None:
            self._release()
        elif self._held.bounds is not None:  # closing cut that step short: drop its row
            self.step_number = self._held.bounds[0]
        if self._communication is not None:
            self._communication.close()
        if self._profiled is not None:
            self._profiled.close()
        self.model.hash_if_due(self.step_number, last=True)
        if self._later is not None:
            self._later.drain()
        self.rows.close()
        self.note_memory(self.step_number, last=True)
        self.launch.record_resources(self._sink.flush_cpu_ns(), self.model.hash_ns)
        self.launch.record_torch_list(self._flights, self.event)
        if not self._first_step_seen and (why := why_unseen()) is not None:
            self.event("steps_unseen", self._now(), detail={"why": why})
        self.event("worker_end", self._now(), step=self.step_number, detail={"error": error} if error else {})
        self.launch.last_comparison()
        self._stop()

    def _stop(self) -> None:
        self._deactivate()
        self.model.close()
        self._named = dict.fromkeys(self._named, NOTHING)
        self._on_close()
        self._sink.close()

    def __enter__(self) -> Self:
        self._entered += 1
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        self._entered -= 1
        if self._entered <= 0:
            self.end(None if kind is None else kind.__name__)
