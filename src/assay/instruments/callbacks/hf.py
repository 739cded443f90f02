"""How is a training by the Trainer of transformers measured by one line?  `Trainer(callbacks=[AssayCallback()])`.

Steps, phases, losses, samples and evaluations are seen by hooks.  The Trainer's own `on_step_begin` comes after the batches of a step
were fetched, so that waiting for data could not be told from it, and there is no event when an evaluation begins.
Saving a checkpoint has an event at its end alone (`on_save`): it is taken to begin with the last event before it, since the Trainer
logs, evaluates and saves one after the other.
Cannot tell: what other callbacks do between those events; it counts as saving.
"""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

from assay.instruments.callbacks import training_pauses


class AssayCallback(TrainerCallback):
    """Has a launch by assay measure the training; elsewhere it does nothing."""

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
