"""Does the model keep its accuracy when its weights are kept in eight bits?  The digits, trained as ever and scored quantised.

    assay run examples/quantised.toml

Only the scoring differs: every matrix is rounded to 255 steps, each row by its largest weight, as an engine that serves it would store it.
"""

from __future__ import annotations

import copy

import torch
import train
from torch import Tensor

STEPS = 127  # of eight bits: -127 ... 127


def in_eight_bits(weight: Tensor) -> Tensor:
    """Each row (output channel) by its own largest weight."""
    rows = weight.reshape(len(weight), -1)
    scale = (rows.abs().amax(dim=1, keepdim=True) / STEPS).clamp_min(torch.finfo(weight.dtype).tiny)
    return ((rows / scale).round() * scale).reshape(weight.shape)


class Quantised(train.Training):
    """The same training; what is scored is a rounded copy."""

    @torch.no_grad()
    def evaluate(self, rows: Tensor) -> None:
        """Score with the rounded weights."""
        trained, self.model = self.model, copy.deepcopy(self.model.module)
        for parameter in self.model.parameters():
            if parameter.dim() > 1:
                parameter.copy_(in_eight_bits(parameter))
        super().evaluate(rows)
        self.model = trained


if __name__ == "__main__":
    train.Training = Quantised  # type: ignore[misc]
    train.main()
