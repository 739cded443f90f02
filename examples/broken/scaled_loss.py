"""Broken on purpose: the loss is divided by the number of workers, although the averaging of gradients does that already.

Adam's step hardly depends on the length of the gradient: losses, accuracy and the equality of replicas stay as they should be.
What must be found: the first gradient is 1 / workers of the one that a single worker computes.
"""

import digits
import torch.distributed as dist
from torch import Tensor

cross_entropy = digits.train.cross_entropy


def averaged_twice(scores: Tensor, labels: Tensor) -> Tensor:
    """Right for one worker."""
    return cross_entropy(scores, labels) / dist.get_world_size()


digits.train.cross_entropy = averaged_twice
digits.train.main()
