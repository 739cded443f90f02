"""How do we measure a training by accelerate in one line?

`accelerator = measured(Accelerator())`. Hooks record steps, phases, losses and samples, and evaluations by their passes without
gradients; `save_state` and `load_state` of the accelerator are checkpoints. No other change is needed: the hooks handle the objects
from `accelerator.prepare`. `accelerator.log` gives the trackers the step numbers of `step_numbers` beside what is logged.
Cannot tell: files that the script writes itself (`torch.save`, `save_model`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from fireassay.instruments.callbacks import training_pauses
from fireassay.instruments.callbacks.step_numbers import StepNumbers

Accelerator = TypeVar("Accelerator")


def measured(accelerator: Accelerator) -> Accelerator:
    """The same accelerator: its checkpoints are marked in a launch by assay, and what it logs has provisional step numbers."""
    training_pauses.arm()
    numbers = StepNumbers()
    checkpoints: dict[str, Any] = {"save_state": "checkpoint_save", "load_state": "checkpoint_load"}
    for name, kind in checkpoints.items():
        training_pauses.wrapped(accelerator, name, kind)
        _before(accelerator, name, lambda *_, **__: numbers.paused())

    def ends(*_: Any, **__: Any) -> None:
        if getattr(accelerator, "sync_gradients", True):
            numbers.ended()

    _before(accelerator, "backward", ends)
    if (log := getattr(accelerator, "log", None)) is not None:

        @wraps(log)
        def logs(values: Any, *arguments: Any, **words: Any) -> Any:
            return log({**values, **numbers.take(getattr(accelerator, "trackers", ()))}, *arguments, **words)

        vars(accelerator)["log"] = logs
    return accelerator


def _before(owner: Any, name: str, does: Callable[..., None]) -> None:
    """Do something before every call of an object's method, if it has it."""
    original = getattr(owner, name, None)
    if original is None:
        return

    @wraps(original)
    def called(*arguments: Any, **words: Any) -> Any:
        does(*arguments, **words)
        return original(*arguments, **words)

    setattr(owner, name, called)
