"""Broken on purpose: one shard of every batch is trained by nobody.

The batch is cut into one shard more than there are workers (an off-by-one), so the last shard has no owner.
What must be found: samples that no rank used in an epoch.
"""

from collections.abc import Iterator

import digits
from torch import Tensor

batches = digits.train.batches


def one_shard_too_many(rows: Tensor, seed: int, epoch: int, rank: int, workers: int) -> Iterator[Tensor]:
    """This rank's slice, of as many slices as if there were a worker more; right with one worker."""
    return batches(rows, seed, epoch, rank, workers + 1 if workers > 1 else 1)


digits.train.batches = one_shard_too_many
digits.train.main()
