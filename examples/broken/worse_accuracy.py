"""Broken on purpose: the model gets worse, by more than the margin, when more than one worker trains it.

The decimal point of the distributed run's learning rate slipped by two places.
Replicas agree, every sample is used once: only the scores of the held-out images show it.
What must be found: accuracy is not held.
"""

import digits

learning_rate = digits.train.learning_rate


def slipped(done: float, workers: int) -> float:
    """Right for one worker, a hundredth of it for several."""
    return learning_rate(done, workers) * (0.01 if workers > 1 else 1.0)


digits.train.learning_rate = slipped
digits.train.main()
