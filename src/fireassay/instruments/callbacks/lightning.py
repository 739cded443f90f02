"""How do we measure a training by Lightning in one line?

`Trainer(callbacks=[AssayCallback()])`. Validation is an evaluation from its first event to its last, and `trainer.save_checkpoint`,
which every checkpoint uses, is a checkpoint. Hooks record steps, phases, losses and samples: Lightning's events would miss the time
between them, and its fetcher prefetches batches.
Cannot tell: a checkpoint that a plugin writes in another thread; it counts as saved when the call returns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fireassay.instruments.callbacks import training_pauses

if TYPE_CHECKING:
    from collections.abc import Callable

try:
    from lightning.pytorch import Callback
except ImportError:
    from pytorch_lightning import Callback


class AssayCallback(Callback):  # type: ignore[misc]
    """Measures the training in a launch by assay; elsewhere it does nothing."""

    def __init__(self) -> None:
        super().__init__()
        training_pauses.arm()
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

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        """An evaluation begins."""
        self._since = training_pauses.begin("evaluation")

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """The evaluation ends."""
        training_pauses.end("evaluation", self._since)
        self._since = None

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """End the current evaluation, if any."""
        training_pauses.end("evaluation", self._since, succeeded=False)
        self._since = None
