"""Broken on purpose: rank 0 stays in evaluation mode after a look at the held-out images, and trains on in it.

Its dropout is off from then on, while the others' is not.
What must be found: the ranks train in different modes.
"""

import digits
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def build(seed: int, rank: int, device: torch.device) -> nn.Module:
    """The model with dropout, which every rank draws from a seed of its own."""
    torch.manual_seed(seed)
    model = DistributedDataParallel(nn.Sequential(digits.train.network(), nn.Dropout(0.1)).to(device))
    torch.manual_seed(1000 * seed + rank)
    return model


class Training(digits.train.Training):
    """A training whose rank 0 looks first."""

    def load(self) -> int:
        """How good is it before it has learned?  And nobody calls train() again."""
        if self.rank == 0 and self.workers > 1:
            self.model.eval()
        return 0


digits.train.build, digits.train.Training = build, Training
digits.train.main()
