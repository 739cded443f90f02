"""Tensor parallelism by torch's own DTensor: one layer by columns, one by rows."""

import os

import torch
import torch.distributed as dist
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

dist.init_process_group("gloo")
torch.manual_seed(26)
x, y = torch.randn(8, 8), torch.randn(8, 4)
mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (dist.get_world_size(),))
plain = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
model = parallelize_module(plain, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
parts = {name: getattr(one, "to_local", lambda one=one: one)() for name, one in model.named_parameters()}
torch.save(parts, os.environ["WEIGHTS"] + f".{dist.get_rank()}")
dist.destroy_process_group()
