"""What is recorded about the trained model?"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

from fireassay.instruments.fingerprints import first_gradients as _first_gradients
from fireassay.instruments.fingerprints import gradient_sketch as gradients
from fireassay.instruments.fingerprints import later_gradients, model_hash
from fireassay.instruments.recorder import batch_statistics
from fireassay.instruments.recorder.inactive import RandomState
from fireassay.instruments.recorder.launch_end import Append, say
from fireassay.instruments.recorder.restored_step import Restored, States
from fireassay.instruments.recorder.shield import shielded


class Current(Protocol):
    """The recording of which the model is part."""

    active: bool
    seed: int
    workers: int
    key: tuple[int, int, int]
    append: Append

    @property
    def step_number(self) -> int:
        """The number of the current step."""

    @property
    def batches_so_far(self) -> int:
        """Batches used in the current step, if hooks see them."""

    def event(
        self, kind: str, ns: int, duration: int | None = ..., *, step: int | None = ..., value: float | None = ..., detail: Any = ...
    ) -> None:
        """Record an event."""

    def fail(self, error: Exception, where: str = ...) -> None:
        """End the recording, not the training."""

    def expect_work(self) -> None:
        """Something is due when the current step ends."""

    def set_aside_hashing(self) -> AbstractContextManager[None]:
        """Exclude the work in this block from training time."""


class WatchedModel:
    """Hashes, gradients and settings of the model."""

    def __init__(self, recorder: Current, now: Callable[[], int]) -> None:
        self._recorder, self._now = recorder, now
        self.states: States | None = None  # progress notes, if workers may be restarted
        self.went_on: Restored | None = None  # where this incarnation resumed
        self.optimizers: Iterable[Any] = ()  # live ones, as reported by the hooks
        self.hash_ns = 0
        self.hash_used_ns = 0  # processor time of the thread, of hashes at the end of steps
        self.later_steps: later_gradients.LaterSteps | None = None
        self.watching: model_hash.Watch | None = None
        self.first_gradients: _first_gradients.FirstGradients | None = None
        self._asks_sending = False  # check whether batch-normalisation statistics are broadcast
        self._starts: Mapping[str, int] = {}  # of the parameters, for launches in which no rank may hold them all

    @property
    def active(self) -> bool:
        """True if anything is recorded."""
        return self._recorder.active

    def fail(self, error: Exception, where: str = "") -> None:
        """End the recording, not the training."""
        self._recorder.fail(error, where)

    @property
    def current(self) -> model_hash.Watch | None:
        """The hashing state of the trained model, if any."""
        watch = self.watching
        return None if watch is None or watch.model is None else watch

    @property
    def _incarnation(self) -> int:
        return self._recorder.key[2]

    @property
    def _key(self) -> tuple[int, ...]:
        """Of a row about the current step."""
        return (*self._recorder.key, self._recorder.step_number)

    def _fingerprint(self, what: str, *, value: float | None = None, text: str | None = None) -> None:
        self._recorder.append("fingerprints", (*self._key, what, value, text))

    def go_on(self, step: int, *, numbered: bool = False) -> int:
        """The first step begins: after a restart, find its number, outside training time. Returns it.

        `numbered`: the script gives the number itself, or implies the first by giving none.
        """
        watch = self.current
        if watch is None or self.states is None or self.went_on is not None:
            return step
        begin = self._now()
        self.went_on = self.states.restored(watch.model) if self._incarnation else Restored(step=0)
        known = self.went_on.step is not None
        if known:
            step = max(step, self.went_on.step or 0)
        if self._incarnation and (known or not numbered):
            detail = {"by": self.went_on.by, "why": self.went_on.why}
            self._recorder.event("resumed", begin, step=self.went_on.step, detail=detail)
        self.states.note(watch.model, step if known or numbered else None)
        self.hash_ns += self._now() - begin
        return step

    def has_saved(self, steps: int) -> None:
        """A checkpoint was saved after so many steps."""
        watch = self.current
        if watch is not None and self.states is not None:
            begin = self._now()
            known = self.went_on is None or self.went_on.step is not None
            self.states.note(watch.model, steps if known else None, saved=True)
            self.hash_ns += self._now() - begin

    def watch(self, model: Any, random: RandomState | None) -> None:
        """See `Probe.watch`."""
        self.leave()
        staged = model_hash.is_called_as_a_stage()
        self._recorder.expect_work()
        watch = self.watching = model_hash.Watch(model, staged=staged, optimizers=self.optimizers)
        self._fingerprint("parameters", value=float(watch.parameters))
        for what, number in zip(("random_layers", "batch_layers"), model_hash.layers(model), strict=True):
            self._fingerprint(what, value=float(number))
        if random is not None:
            self._fingerprint("random_state", text=random)
        self._asks_sending = self._recorder.workers > 1
        if watch.staged:  # a pipeline stage is not a replica
            return
        self.later_steps = later_gradients.wait_for(model, self._recorder.seed, self._examine_step)
        if self._incarnation == 0:  # a resumed run has no first gradient
            self.first_gradients = _first_gradients.wait_for(model, self._keep_first_gradients, watch.trained_by)

    def gradients(self, named: Mapping[str, Any]) -> None:
        """See `Probe.gradients`."""
        self._leave_gradients()
        self._keep_first_gradients(named.items(), None)
        if self.later_steps is not None:  # its gradients are not in `.grad`
            self.later_steps.gradients_since = None

    def _keep_first_gradients(self, named: Iterable[tuple[str, Any]], precision: str | None) -> None:
        """Keep the current step's gradients; record a reason for what cannot be kept."""
        with self._recorder.set_aside_hashing():
            try:
                for row in gradients.rows(named, precision, self._starts):
                    self._recorder.append("gradients", (*self._key, *row))
                if batches := self._recorder.batches_so_far:
                    self._fingerprint("accumulation", value=float(batches))
                if self.later_steps is not None:
                    self.later_steps.gradients_since = self._recorder.step_number
            except Exception as error:
                say(f"the gradients are not compared with one worker's: {type(error).__name__}: {error}")

    def wait_for_optimizer(self, later: later_gradients.LaterSteps) -> None:
        """A chosen step begins."""
        if self.first_gradients is not None and self.first_gradients.over:
            self._leave_gradients()
        later.arm()

    @shielded
    def _examine_step(self, optimizer: Any, clips: list[later_gradients.Clip], scale: float | None) -> None:
        """Record the current step's training inputs, just before the optimizer steps."""
        later, watch = self.later_steps, self.current
        if later is None or watch is None:
            return
        later.examined(self._recorder.step_number)
        self._recorder.expect_work()
        with self._recorder.set_aside_hashing():
            try:
                self._record_later(later, watch, optimizer, clips, scale)
            except Exception as error:
                self._leave_later_steps()
                say(f"later steps are not compared between ranks: {type(error).__name__}: {error}")

    def _record_later(
        self,
        later: later_gradients.LaterSteps,
        watch: model_hash.Watch,
        optimizer: Any,
        clips: list[later_gradients.Clip],
        scale: float | None,
    ) -> None:
        training, mode = later_gradients.mode_of(watch.model)
        self._recorder.append("fingerprints", (*self._key, "mode", training, mode))
        self._fingerprint("optimizer_settings", text=later_gradients.settings_of(optimizer))
        for names, *values in clips:
            for what, value in zip(names, values, strict=True):
                self._fingerprint(what, value=value)
        if scale is not None:
            self._fingerprint("clip_scale", value=scale)
        if self._asks_sending:
            self._asks_sending = False
            if (sent := batch_statistics.broadcast(watch.model)) is not None:
                self._fingerprint("buffers_broadcast", value=float(sent))
        if watch.trained_by(optimizer):  # newly known: its state may have been restored
            what, text = model_hash.optimizer_hash(optimizer)
            self._fingerprint(what, text=text)
        first = later.gradients_since
        if first is not None and first < self._recorder.step_number:
            for row in later_gradients.gradient_rows(watch.model, optimizer):
                self._recorder.append("gradients", (*self._key, *row))

    def _leave_gradients(self) -> None:
        if self.first_gradients is not None:
            self.first_gradients.leave()
            self.first_gradients = None

    def _leave_later_steps(self) -> None:
        if self.later_steps is not None:
            self.later_steps.leave()
            self.later_steps = None

    def leave(self) -> None:
        """Remove all hooks."""
        self._leave_gradients()
        self._leave_later_steps()

    def close(self) -> None:
        """The recording has ended."""
        self.leave()
        self.watching = None

    def communicated(self, step: int, nbytes: int) -> None:
        """A step's collectives moved so many bytes. If they may have averaged replicas that had parted, hash what follows."""
        watch = self.current
        if watch is not None and watch.rejoins(nbytes):
            watch.hash_at(step + 1)
            self._recorder.expect_work()

    def due(self, step: int) -> bool:
        """True if a hash is due at this step."""
        watch = self.current
        return watch is not None and watch.due(step)

    def hash_if_due(self, step: int, *, last: bool = False) -> bool:
        """Hash the model if its step has come, or if it is the last; whether it was."""
        watch = self.current
        if watch is None or (watch.hashed == step if last else not watch.due(step)):
            return False
        self._hash(watch, step)
        return True

    def _hash(self, watch: model_hash.Watch, step: int) -> None:
        """Hash the model now; if that fails, record the reason and continue."""
        begin, used = self._now(), time.thread_time_ns()
        try:
            if step == 0 and self.first_gradients is not None and (self._recorder.workers == 1 or watch.sharded):
                self._starts = gradients.starts(watch.model)
            for what, text in watch.hashes(step):
                self._fingerprint(what, text=text)
            if (statistics := batch_statistics.statistics(watch.model)) is not None:
                self._recorder.append("fingerprints", (*self._key, "batch_statistics", *statistics))
            if step and (outside := model_hash.without_optimizer(watch.model, self.optimizers)):
                self._fingerprint("without_optimizer", text=json.dumps(outside))
            if not watch.staged and (beside := model_hash.outside(watch.model, self.optimizers)):
                self._fingerprint("outside_hash", text=model_hash.tensor_hash(beside), value=float(len(beside)))
            rate = watch.learning_rate()
            if rate is not None:
                self._fingerprint("learning_rate", value=rate)
            if self.states is not None and self.went_on is not None and self.went_on.step is not None:
                self.states.note(watch.model, step)
        except Exception as error:
            self.watching = None
            say(f"the model's parameters are not compared between replicas: {type(error).__name__}: {error}")
        self.hash_ns += self._now() - begin
        self.hash_used_ns += time.thread_time_ns() - used
