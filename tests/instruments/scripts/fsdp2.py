"""Sharded parameters (FSDP2), over gloo."""

import os

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
torch.manual_seed(13)
data = TensorDataset(torch.randn(64, 8), torch.randn(64, 1))
loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data, shuffle=False))
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (dist.get_world_size(),))
for layer in (model[0], model[2], model):
    fully_shard(layer, mesh=mesh)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for x, y in loader:
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
shards = {name: parameter.to_local() for name, parameter in model.named_parameters()}
torch.save(shards, os.environ["WEIGHTS"] + f".{dist.get_rank()}")
dist.destroy_process_group()
