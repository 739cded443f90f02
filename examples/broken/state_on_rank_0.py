"""Broken on purpose: rank 0 alone goes on with the optimizer's state of an older run; the model is the same on all ranks.

A checkpoint that holds the optimizer and is read by rank 0 only does this.
What must be found: the optimizer's state differs between ranks before the parameters do, and the gradients are equal.
"""

import digits
import torch


class Training(digits.train.Training):
    """A training that rank 0 believes to go on."""

    def load(self) -> int:
        """Two moments of every parameter, as an older run may have left them."""
        if self.rank == 0:
            for parameter in self.model.parameters():
                self.optimizer.state[parameter] = {
                    "step": torch.tensor(20.0),
                    "exp_avg": torch.full_like(parameter, 1e-3),
                    "exp_avg_sq": torch.full_like(parameter, 1e-4),
                }
        return 0


digits.train.Training = Training
digits.train.main()
