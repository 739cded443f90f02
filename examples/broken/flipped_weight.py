"""Broken on purpose: one bit of one weight flips on the last rank, after the second step.

Faulty memory does this, and so does code that writes a parameter on one rank alone.
What must be found: one parameter differs, and no update caused it: the gradients of all ranks are equal.
"""

import digits
import torch
import torch.distributed as dist
from torch import nn


class Training(digits.train.Training):
    """A training whose optimizer is told where to count steps."""

    def load(self) -> int:
        """Nothing is loaded; the weight flips when the second step is over."""
        self.steps = 0
        if dist.get_rank() == dist.get_world_size() - 1 > 0:
            self.optimizer.register_step_post_hook(lambda *_: self.flip())
        return 0

    def flip(self) -> None:
        """The highest bit of the fraction, in the last layer's first weight."""
        self.steps += 1
        if self.steps == 2:
            (last,) = [module for module in self.model.modules() if isinstance(module, nn.Linear)]
            last.weight.data.view(torch.int32)[0, 0] ^= 1 << 22


digits.train.Training = Training
digits.train.main()
