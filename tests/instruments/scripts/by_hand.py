"""Gradients are averaged by the script's own all_reduce; the optimizer shards its state."""

import os

import torch
import torch.distributed as dist
from torch.distributed.optim import ZeroRedundancyOptimizer

dist.init_process_group("gloo")
torch.manual_seed(14)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
optimizer = ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.Adam, lr=1e-2)
x, y = torch.randn(64, 4), torch.randn(64, 1)
for number in range(8):
    begin = 8 * number + 4 * dist.get_rank()
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(x[begin % 60 : begin % 60 + 4]), y[begin % 60 : begin % 60 + 4]).backward()
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= dist.get_world_size()
    optimizer.step()
torch.save(model.state_dict(), os.environ["WEIGHTS"] + f".{dist.get_rank()}")
dist.destroy_process_group()
