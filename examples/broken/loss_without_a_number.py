"""Broken on purpose: a temperature falls to zero, so that the scores are divided by nothing and the last losses are no numbers.

What must be found: the last losses are not finite.
"""

import digits
import torch.distributed as dist
from torch import Tensor
from torch.nn.functional import cross_entropy


class Cooling:
    """One for two steps, then zero."""

    steps = 0

    def __call__(self, scores: Tensor, labels: Tensor) -> Tensor:
        """The loss at the temperature of the step."""
        self.steps += 1
        temperature = 0.0 if self.steps > 2 and dist.get_world_size() > 1 else 1.0
        return cross_entropy(scores / temperature, labels)


digits.train.cross_entropy = Cooling()
digits.train.main()
