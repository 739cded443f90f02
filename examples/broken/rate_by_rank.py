"""Broken on purpose: every rank has a learning rate of its own, so that equal gradients make other models.

What must be found: the learning rate differs between ranks, and the gradients do not.
"""

import os

import digits

usual = digits.train.learning_rate


def learning_rate(done: float, workers: int) -> float:
    """Larger on every further rank."""
    return usual(done, workers) * (1 + 0.1 * int(os.environ["RANK"]))


digits.train.learning_rate = learning_rate
digits.train.main()
