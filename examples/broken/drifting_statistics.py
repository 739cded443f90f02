"""Broken on purpose: nobody sends the running statistics of batch normalisation from rank to rank.

Every rank keeps those of its own shard, so that each evaluates another model, and the checkpoint is rank 0's.
What must be found: the statistics differ between ranks at the end, and nobody makes them equal.
"""

import digits
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def build(seed: int, rank: int, device: torch.device) -> nn.Module:
    """The model with normalised pixels."""
    torch.manual_seed(seed)
    pixels = (nn.Flatten(), nn.BatchNorm1d(64), nn.Unflatten(1, (1, 8, 8)))
    return DistributedDataParallel(nn.Sequential(*pixels, digits.train.network()).to(device), broadcast_buffers=False)


digits.train.build = build
digits.train.main()
