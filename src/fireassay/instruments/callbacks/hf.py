"""How do we measure a training by the Trainer of transformers in one line?

`Trainer(callbacks=[AssayCallback()])`. Hooks record steps, phases, losses, samples and evaluations. The Trainer's own `on_step_begin`
comes after a step's batches were fetched, so it cannot show the wait for data, and no event marks the start of an evaluation.
Saving a checkpoint has an event at its end only (`on_save`): it is assumed to begin with the last event before it, since the Trainer
logs, evaluates and saves in sequence.
Cannot tell: the time of other callbacks between those events; it counts as saving.
"""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

from fireassay.instruments.callbacks import training_pauses


class AssayCallback(TrainerCallback):
    """Measures the training in a launch by assay; elsewhere it does nothing."""

    def __init__(self) -> None:
        training_pauses.arm()
        self._last: int | None = None

    def _note(self, *_: Any, **__: Any) -> None:
        self._last = training_pauses.now()

    on_step_end = on_log = on_evaluate = on_epoch_end = _note

    def on_save(self, args: Any, state: Any, control: Any, **words: Any) -> None:
        """A checkpoint was saved."""
        if self._last is not None:
            training_pauses.saved(self._last)
        self._last = training_pauses.now()
