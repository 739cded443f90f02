"""Broken on purpose: every rank clips its own gradient, and the clipped ones are averaged by hand.

The norm of an average is not the average of norms: what is clipped first has another direction.
What must be found: the norms that clipping found differ between ranks, although all of them step with the same gradient.
"""

import digits
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.utils import clip_grad_norm_


def build(seed: int, rank: int, device: torch.device) -> nn.Module:
    """The bare model, alike on every rank."""
    torch.manual_seed(seed)
    return digits.train.network().to(device)


def clip_and_average(parameters: object, limit: float) -> torch.Tensor:
    """In the wrong order."""
    every = list(parameters)
    norm = clip_grad_norm_(every, limit / 10)
    for parameter in every:
        dist.all_reduce(parameter.grad)
        parameter.grad /= dist.get_world_size()
    return norm


digits.train.build, digits.train.clip_grad_norm_ = build, clip_and_average
digits.train.main()
