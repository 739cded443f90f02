"""Broken on purpose: the first worker takes more of every batch than the others, and every worker averages over its own part.

The mean of the workers' means is not the mean over the batch: samples of the small parts weigh more (pytorch issue 37359).
What must be found: the first gradient is not that of a single worker, and the shards are unequal.
"""

from collections.abc import Iterator

import digits
from torch import Tensor

batches = digits.train.batches


def the_first_takes_more(rows: Tensor, seed: int, epoch: int, rank: int, workers: int) -> Iterator[Tensor]:
    """The first worker's part is three times as large as if all were equal but for that."""
    for whole in batches(rows, seed, epoch, 0, 1):
        parts = whole.chunk(workers + 2) if workers > 1 else (whole,)
        yield whole[: sum(len(part) for part in parts[:3])] if rank == 0 else parts[rank + 2]


digits.train.batches = the_first_takes_more
digits.train.main()
