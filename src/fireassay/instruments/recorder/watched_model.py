"""What is recorded about the trained model, its data and its scores?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fireassay.instruments.fingerprints import first_gradients as _first_gradients
from fireassay.instruments.fingerprints import gradient_sketch as gradients
from fireassay.instruments.fingerprints import later_gradients, model_hash
from fireassay.instruments.recorder import batch_statistics
from fireassay.instruments.recorder import values as _values
from fireassay.instruments.recorder.inactive import RandomState
from fireassay.instruments.recorder.recorder_state import RecorderState, say, shielded
from fireassay.instruments.recorder.restored_step import Restored


class WatchedModel(RecorderState):
    """Hashes, gradients and settings of the model; evaluations."""

    def _go_on(self, watch: model_hash.Watch, *, numbered: bool = False) -> None:
        """The first step begins: after a restart, find its number, outside training time.

        `numbered`: the script gives the number itself, or implies the first by giving none.
        """
        if self.states is None or self.went_on is not None:
            return
        begin = self._now()
        self.went_on = self.states.restored(watch.model) if self._identity.incarnation else Restored(step=0)
        known = self.went_on.step is not None
        if known:
            self._step = max(self._step, self.went_on.step or 0)
        if self._identity.incarnation and (known or not numbered):
            detail = {"by": self.went_on.by, "why": self.went_on.why}
            self._event("resumed", begin, step=self.went_on.step, detail=detail)
        self.states.note(watch.model, self._step if known or numbered else None)
        self._hash_ns += self._now() - begin

    @shielded
    def watch(self, model: Any, *, random: RandomState | None = None) -> None:
        """See `Probe.watch`."""
        self._leave_gradients()
        self._leave_later_steps()
        staged = model_hash.is_called_as_a_stage()
        self._is_busy()
        watch = self._watching = model_hash.Watch(model, staged=staged, optimizers=self.optimizers)
        self._fingerprint("parameters", value=float(watch.parameters))
        for what, number in zip(("random_layers", "batch_layers"), model_hash.layers(model), strict=True):
            self._fingerprint(what, value=float(number))
        if random is not None:
            self._fingerprint("random_state", text=random)
        self._asks_sending = self.workers > 1
        if watch.staged:  # a pipeline stage is not a replica
            return
        self._later_steps = later_gradients.wait_for(model, self.seed, self._look_at_step)
        if self._identity.incarnation == 0:  # a resumed run has no first gradient
            self._gradients = _first_gradients.wait_for(model, self._first_gradients, watch.trained_by)

    @shielded
    def gradients(self, named: Mapping[str, Any]) -> None:
        """See `Probe.gradients`."""
        self._leave_gradients()
        self._first_gradients(named.items(), None)
        if self._later_steps is not None:  # its gradients are not in `.grad`
            self._later_steps.gradients_since = None

    def _first_gradients(self, named: Iterable[tuple[str, Any]], precision: str | None) -> None:
        """Keep the current step's gradients; record a reason for what cannot be kept."""
        with self._set_aside_hashing():
            try:
                for row in gradients.rows(named, precision, self._starts):
                    self._append("gradients", (*self._key, self._step, *row))
                if self._hooks is not None and (batches := self._hooks.batches):
                    self._fingerprint("accumulation", value=float(batches))
                if self._later_steps is not None:
                    self._later_steps.gradients_since = self._step
            except Exception as error:
                say(f"the gradients are not compared with one worker's: {type(error).__name__}: {error}")

    def _wait_for_optimizer(self, later: later_gradients.LaterSteps) -> None:
        """A chosen step begins."""
        if self._gradients is not None and self._gradients.over:
            self._leave_gradients()
        later.arm()

    @shielded
    def _look_at_step(self, optimizer: Any, clips: list[later_gradients.Clip]) -> None:
        """Record the current step's training inputs, just before the optimizer steps."""
        later, watch = self._later_steps, self._watch
        if later is None or watch is None:
            return
        later.looked(self._step)
        self._is_busy()
        with self._set_aside_hashing():
            try:
                self._tell_later(later, watch, optimizer, clips)
            except Exception as error:
                self._leave_later_steps()
                say(f"later steps are not compared between ranks: {type(error).__name__}: {error}")

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
        if watch.trained_by(optimizer):  # newly known: its state may have been restored
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

    @shielded
    def dataset(self, size: int) -> None:
        """See `Probe.dataset`."""
        self._fingerprint("dataset_size", value=_values.as_count("size", size))

    @shielded
    def example(
        self, id: Any, score: Any, *, prediction: Any = None, target: Any = None, metric: str = "accuracy", cluster: Any = None
    ) -> None:
        """See `Probe.example`."""
        text = _values.as_text
        row = (metric, str(text(id)), text(prediction), text(target), _values.as_number(score), text(cluster))
        self._append("examples", (*self._key, *row))

    @shielded
    def examples(
        self, ids: Any, scores: Any, *, predictions: Any = None, targets: Any = None, metric: str = "accuracy", cluster: Any = None
    ) -> None:
        """See `Probe.examples`."""
        ids = _values.as_list(ids)
        clusters = [cluster] * len(ids) if isinstance(cluster, str | int) else cluster
        columns = [
            _values.as_list(column) if column is not None else [None] * len(ids) for column in (scores, predictions, targets, clusters)
        ]
        # Check before the first write: a part of a held-out set must not be taken for the whole.
        if any(len(column) != len(ids) for column in columns):
            lengths = ", ".join(str(len(column)) for column in columns)
            raise ValueError(f"{len(ids)} ids, but {lengths} scores, predictions, targets, clusters; give as many of each")
        for id, score, prediction, target, group in zip(ids, *columns, strict=True):
            self.example(id, score, prediction=prediction, target=target, metric=metric, cluster=group)

    def _hash(self, watch: model_hash.Watch) -> None:
        """Hash the model now; if that fails, record the reason and continue."""
        begin = self._now()
        try:
            if self._step == 0 and self._gradients is not None and (self.workers == 1 or watch.sharded):
                self._starts = gradients.starts(watch.model)
            for what, text in watch.hashes(self._step):
                self._fingerprint(what, text=text)
            if (statistics := batch_statistics.statistics(watch.model)) is not None:
                self._append("fingerprints", (*self._key, self._step, "batch_statistics", *statistics))
            rate = watch.learning_rate()
            if rate is not None:
                self._fingerprint("learning_rate", value=rate)
            if self.states is not None and self.went_on is not None and self.went_on.step is not None:
                self.states.note(watch.model, self._step)
        except Exception as error:
            self._watching = None
            say(f"the model's parameters are not compared between replicas: {type(error).__name__}: {error}")
        self._hash_ns += self._now() - begin
