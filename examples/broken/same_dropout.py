"""Broken on purpose: all workers drop the same units, because all of them were seeded alike and drop afterwards.

Every worker's dropout should be its own: the noise of the average is otherwise as large as that of one worker.
What must be found: the states of the random generators are equal, and the model draws from them.
"""

import digits
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def build(seed: int, rank: int, device: torch.device) -> nn.Module:
    """The model with dropout; right would be another seed for each rank after it is made."""
    torch.manual_seed(seed)
    return DistributedDataParallel(nn.Sequential(digits.train.network(), nn.Dropout(0.1)).to(device))


digits.train.build = build
digits.train.main()
