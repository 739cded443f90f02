"""Broken on purpose: from the second step on the loss is divided by the number of workers, though DDP averages already.

The first gradient is right, and Adam hides a factor, so that losses and replicas look well.
What must be found: a later step's gradient is 1 / workers times one worker's.
"""

import digits
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel


class Scaled(torch.autograd.Function):
    """The loss as it is; its gradient divided."""

    @staticmethod
    def forward(ctx: object, loss: Tensor) -> Tensor:
        """Pass it on."""
        return loss.clone()

    @staticmethod
    def backward(ctx: object, gradient: Tensor) -> Tensor:
        """Once too often."""
        return gradient / dist.get_world_size()


class Losses:
    """Counts the steps."""

    steps = 0

    def __call__(self, scores: Tensor, labels: Tensor) -> Tensor:
        """The loss, scaled but for the first time."""
        self.steps += 1
        loss = cross_entropy(scores, labels)
        return loss if self.steps == 1 else Scaled.apply(loss)


def build(seed: int, rank: int, device: torch.device) -> nn.Module:
    """The model as it is."""
    torch.manual_seed(seed)
    return DistributedDataParallel(digits.train.network().to(device))


digits.train.build = build
digits.train.cross_entropy = Losses()
digits.train.main()
