"""How do we measure a training by the Trainer of transformers in one line?

`Trainer(callbacks=[AssayCallback()])`. Hooks record steps, phases, losses, samples and evaluations. The Trainer's own `on_step_begin`
comes after a step's batches were fetched, so it cannot show the wait for data, and no event marks the start of an evaluation.
Saving a checkpoint has an event at its end only (`on_save`): it is assumed to begin with the last event before it, since the Trainer
logs, evaluates and saves in sequence.

`followed(trainer)` puts the callback before the trainer's trackers, so that they get the step numbers of `step_numbers` with the loss. (Callbacks
that are given to a Trainer come after its trackers, which then have logged already.)
Cannot tell: the time of other callbacks between those events; it counts as saving.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from transformers import TrainerCallback

from fireassay.instruments.callbacks import training_pauses
from fireassay.instruments.callbacks.step_numbers import StepNumbers

Trainer = TypeVar("Trainer")


def followed(trainer: Trainer) -> Trainer:
    """The same trainer, with the callback, once."""
    handler: Any = trainer.callback_handler  # type: ignore[attr-defined]
    if not any(isinstance(callback, AssayCallback) for callback in handler.callbacks):
        handler.callbacks.insert(0, AssayCallback(handler.callbacks))
    return trainer


class AssayCallback(TrainerCallback):
    """Measures the training in a launch by assay, and adds provisional step numbers to what is logged."""

    def __init__(self, trackers: Sequence[Any] = ()) -> None:
        training_pauses.arm()
        self._trackers = trackers
        self._last: int | None = None
        self._numbers = StepNumbers()

    def on_train_begin(self, args: Any, state: Any, control: Any, **words: Any) -> None:
        """A training begins."""
        self._numbers.paused()

    def on_step_begin(self, args: Any, state: Any, control: Any, **words: Any) -> None:
        """The batches of a step are there."""
        self._numbers.arrived()

    def on_step_end(self, args: Any, state: Any, control: Any, **words: Any) -> None:
        """The optimizer has stepped."""
        self._last = training_pauses.now()
        self._numbers.ended()

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **words: Any) -> None:
        """Something is logged: with the loss of a training go its step numbers."""
        self._last = training_pauses.now()
        if logs is not None and "loss" in logs and state.is_world_process_zero:
            logs.update(self._numbers.take(self._trackers))

    def on_evaluate(self, args: Any, state: Any, control: Any, **words: Any) -> None:
        """An evaluation has ended."""
        self._last = training_pauses.now()
        self._numbers.paused()

    def on_epoch_end(self, args: Any, state: Any, control: Any, **words: Any) -> None:
        """An epoch has ended."""
        self._last = training_pauses.now()

    def on_save(self, args: Any, state: Any, control: Any, **words: Any) -> None:
        """A checkpoint was saved."""
        if self._last is not None:
            training_pauses.saved(self._last)
        self._last = training_pauses.now()
        self._numbers.paused()
