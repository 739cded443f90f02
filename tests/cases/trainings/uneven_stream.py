"""A stream with two batches less on rank 0, which goes to a barrier while the others wait in their backward pass."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, IterableDataset


class Stream(IterableDataset[torch.Tensor]):
    def __iter__(self) -> Iterator[torch.Tensor]:
        yield from torch.ones(96 if dist.get_rank() == 0 else 128, 4)


torch.set_num_threads(1)
dist.init_process_group("gloo")
model = DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for batch in DataLoader(Stream(), batch_size=16):
    optimizer.zero_grad()
    model(batch).sum().backward()
    optimizer.step()
dist.barrier()
dist.destroy_process_group()
