"""Broken on purpose: the sampler pads an epoch that cannot be divided, and some samples are trained twice.

`torch.utils.data.DistributedSampler` deals the samples out in turn and repeats the first ones until every rank has
equally many (pytorch issue 25162, open since 2019). 1277 samples are 1278 on two workers and 1280 on four.
What must be found: samples that were used twice in an epoch.
"""

from collections.abc import Iterator

import digits
from torch import Tensor
from torch.utils.data import DistributedSampler

digits.train.TRAIN = 1277


def dealt_by_the_sampler(rows: Tensor, seed: int, epoch: int, rank: int, workers: int) -> Iterator[Tensor]:
    """This rank's share of the epoch in slices of its part of the global batch."""
    sampler: DistributedSampler[int] = DistributedSampler(range(len(rows)), workers, rank, shuffle=True, seed=seed)
    sampler.set_epoch(epoch)
    return iter(rows[list(sampler)].split(digits.train.BATCH // workers))


digits.train.batches = dealt_by_the_sampler
digits.train.main()
