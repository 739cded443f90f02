"""Meant to be data-parallel, and the model was not wrapped: the losses are averaged for the log, and nothing else."""

import os

import torch
import torch.distributed as dist

RANK, WORLD = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
if WORLD > 1:
    dist.init_process_group("gloo")
torch.manual_seed(25)
data = torch.utils.data.TensorDataset(torch.randn(64, 8), torch.randint(0, 3, (64,)))
sampler = torch.utils.data.DistributedSampler(data, num_replicas=WORLD, rank=RANK)
loader = torch.utils.data.DataLoader(data, batch_size=8 // WORLD, sampler=sampler)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    sampler.set_epoch(epoch)
    for x, y in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        if WORLD > 1:
            shown = loss.detach().clone()
            dist.all_reduce(shown)
torch.save(model.state_dict(), os.environ["WEIGHTS"] + f".{RANK}")
if WORLD > 1:
    dist.destroy_process_group()
