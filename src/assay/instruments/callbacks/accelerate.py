"""How is a training by accelerate measured by one line?  `accelerator = measured(Accelerator())`.

Steps, phases, losses and samples are seen by hooks, evaluations by their passes without gradients; `save_state` and `load_state` of
the accelerator are checkpoints.  Nothing has to be prepared: what `accelerator.prepare` gives is seen as it is.
Cannot tell: files that the script writes by itself (`torch.save`, `save_model`).
"""

from __future__ import annotations

from typing import Any, TypeVar

from assay.instruments.callbacks import training_pauses

Accelerator = TypeVar("Accelerator")


def measured(accelerator: Accelerator) -> Accelerator:
    """The same accelerator, in a launch by assay with its checkpoints marked."""
    training_pauses.arm()
    checkpoints: dict[str, Any] = {"save_state": "checkpoint_save", "load_state": "checkpoint_load"}
    for name, kind in checkpoints.items():
        training_pauses.wrapped(accelerator, name, kind)
    return accelerator
