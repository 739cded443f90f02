"""Broken on purpose: the gradients are never averaged, because the bare model is trained instead of the wrapped one.

Every rank learns from its own slice of the data alone.
What must be found: the parameter hashes of the ranks are equal at step 0 and differ from step 1 on.
"""

import digits
import torch
from torch import nn


def build(seed: int, rank: int, device: torch.device) -> nn.Module:
    """The same model on every rank, but nothing that averages its gradients."""
    torch.manual_seed(seed)
    return digits.train.network().to(device)


digits.train.build = build
digits.train.main()
