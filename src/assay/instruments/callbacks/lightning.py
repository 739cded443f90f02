"""How is a training by Lightning measured by one line?  `Trainer(callbacks=[AssayCallback()])`.

Validation is an evaluation from its first event to its last, and `trainer.save_checkpoint`, which every checkpoint goes through, is a
checkpoint.  Steps, phases, losses and samples are seen by hooks: an event of Lightning's at each of them would miss what happens
between them, and its own fetcher asks for batches ahead.
Cannot tell: a checkpoint that a plugin writes in another thread; it counts as saved when the call has come back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assay.instruments.callbacks import training_pauses

if TYPE_CHECKING:
    from collections.abc import Callable

try:
    from lightning.pytorch import Callback
except ImportError:
    from pytorch_lightning import Callback


class AssayCallback(Callback):  # type: ignore[misc]
    """Has a launch by assay measure the training; elsewhere it does nothing."""

    def __init__(self) -> None:
        super().__init__()
        training_pauses.arm()
        self._since: int | None = None
        self._undo: Callable[[], None] | None = None

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Before anything is trained."""
        if self._undo is None:
            self._undo = training_pauses.wrapped(trainer, "save_checkpoint", "checkpoint_save")

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """After everything."""
        if self._undo is not None:
            self._undo()
            self._undo = None

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        """An evaluation begins."""
        self._since = training_pauses.begin("evaluation")

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """It is over."""
        training_pauses.end("evaluation", self._since)
        self._since = None

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """It is over too, if one was under way."""
        training_pauses.end("evaluation", self._since, succeeded=False)
        self._since = None
