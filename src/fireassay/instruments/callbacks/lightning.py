"""How do we measure a training by Lightning in one line?

`Trainer(callbacks=[AssayCallback()])`. Validation is an evaluation from its first event to its last, and `trainer.save_checkpoint`,
which every checkpoint uses, is a checkpoint. Hooks record steps, phases, losses and samples: Lightning's events would miss the time
between them, and its fetcher prefetches batches.
The trainer's loggers get the step numbers of `step_numbers`, every `log_every_n_steps` steps.
Cannot tell: a checkpoint that a plugin writes in another thread; it counts as saved when the call returns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fireassay.instruments.callbacks import training_pauses
from fireassay.instruments.callbacks.step_numbers import StepNumbers
from fireassay.instruments.recorder.values import batch_items

if TYPE_CHECKING:
    from collections.abc import Callable

try:
    from lightning.pytorch import Callback
except ImportError:
    from pytorch_lightning import Callback


class AssayCallback(Callback):  # type: ignore[misc]
    """Measures the training in a launch by assay, and logs provisional step numbers everywhere."""

    def __init__(self) -> None:
        super().__init__()
        training_pauses.arm()
        self._numbers = StepNumbers()
        self._step, self._items = 0, 0.0
        self._since: int | None = None
        self._undo: Callable[[], None] | None = None

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Before any training."""
        if self._undo is None:
            self._undo = training_pauses.wrapped(trainer, "save_checkpoint", "checkpoint_save")

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """After all training."""
        if self._undo is not None:
            self._undo()
            self._undo = None

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """A training begins, perhaps from a checkpoint."""
        self._numbers.paused()
        self._step, self._items = trainer.global_step, 0.0

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        """A batch is there."""
        self._numbers.arrived()

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """A batch is done; the step too, unless gradients are accumulated."""
        self._items += batch_items(batch) or float("nan")
        if trainer.global_step == self._step:
            return
        self._numbers.ended(self._items if self._items == self._items else None)
        self._step, self._items = trainer.global_step, 0.0
        if trainer.is_global_zero and trainer.loggers and self._step % (trainer.log_every_n_steps or 1) == 0:
            self._log(trainer)

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """The last steps."""
        if trainer.is_global_zero:
            self._log(trainer)

    def _log(self, trainer: Any) -> None:
        if values := self._numbers.take(trainer.loggers):
            for logger in trainer.loggers:
                logger.log_metrics(values, step=trainer.global_step)

    def on_save_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: Any) -> None:
        """A checkpoint is written between two steps."""
        self._numbers.paused()

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        """An evaluation begins."""
        self._numbers.paused()
        self._since = training_pauses.begin("evaluation")

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """The evaluation ends."""
        training_pauses.end("evaluation", self._since)
        self._since = None

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """End the current evaluation, if any."""
        training_pauses.end("evaluation", self._since, succeeded=False)
        self._since = None
