"""Broken on purpose: every rank begins with another seed, and nobody makes the replicas equal.

The gradients are averaged and agree bit for bit; the models that they are applied to never do.
What must be found: the parameter hashes of the ranks differ at step 0.
"""

import digits
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def build(seed: int, rank: int, device: torch.device) -> nn.Module:
    """A model of its own on every rank."""
    torch.manual_seed(seed + rank)
    return DistributedDataParallel(digits.train.network().to(device), init_sync=False)


digits.train.build = build
digits.train.main()
