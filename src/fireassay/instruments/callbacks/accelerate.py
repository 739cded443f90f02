"""How do we measure a training by accelerate in one line?

`accelerator = measured(Accelerator())`. Hooks record steps, phases, losses and samples, and evaluations by their passes without
gradients; `save_state` and `load_state` of the accelerator are checkpoints. No other change is needed: the hooks handle the objects
from `accelerator.prepare`.
Cannot tell: files that the script writes itself (`torch.save`, `save_model`).
"""

from __future__ import annotations

from typing import Any, TypeVar

from fireassay.instruments.callbacks import training_pauses

Accelerator = TypeVar("Accelerator")


def measured(accelerator: Accelerator) -> Accelerator:
    """The same accelerator, with its checkpoints marked in a launch by assay."""
    training_pauses.arm()
    checkpoints: dict[str, Any] = {"save_state": "checkpoint_save", "load_state": "checkpoint_load"}
    for name, kind in checkpoints.items():
        training_pauses.wrapped(accelerator, name, kind)
    return accelerator
