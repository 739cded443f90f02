"""DistributedDataParallel with its sampler, over gloo."""

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
torch.manual_seed(12)
data = TensorDataset(torch.randn(64, 8), torch.randint(0, 3, (64,)))
sampler = DistributedSampler(data)
loader = DataLoader(data, batch_size=8, sampler=sampler)
model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3)))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-1)
for epoch in range(2):
    sampler.set_epoch(epoch)
    for number, (x, y) in enumerate(loader):
        if number % 2 == 0:  # two batches a step, the first without a reduction
            with model.no_sync():
                torch.nn.functional.cross_entropy(model(x), y).backward()
            continue
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()
torch.save(model.module.state_dict(), os.environ["WEIGHTS"] + f".{dist.get_rank()}")
dist.destroy_process_group()
