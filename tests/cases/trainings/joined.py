"""An uneven stream under torch's Join: rank 0 of several has fewer samples. The optimizer keeps no state, so that replicas are equal again after
each epoch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, IterableDataset

SAMPLES, BATCH = 512, 16


def train(short: int) -> None:
    """Three epochs, rank 0 with so many samples less."""
    dist.init_process_group("gloo")
    rank, workers = dist.get_rank(), dist.get_world_size()
    numbers = torch.Generator().manual_seed(5)
    x = torch.randn(SAMPLES, 32, generator=numbers)
    y = (x[:, :4].sum(1, keepdim=True) > 0).float()

    class Stream(IterableDataset[Any]):
        def __iter__(self) -> Iterator[Any]:
            size = SAMPLES // workers - (short if workers > 1 and rank == 0 else 0)
            yield from zip(x[rank::workers][:size], y[rank::workers][:size], strict=True)

    torch.manual_seed(0)
    model: Any = DistributedDataParallel(nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(3):
        with Join([model]):
            for some, right in DataLoader(Stream(), batch_size=BATCH):
                optimizer.zero_grad()
                nn.functional.binary_cross_entropy_with_logits(model(some), right).backward()
                optimizer.step()
    dist.destroy_process_group()
