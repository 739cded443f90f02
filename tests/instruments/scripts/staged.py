"""Two stages of torch's own pipeline."""

import os

import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

dist.init_process_group("gloo")
torch.manual_seed(27)
rank = dist.get_rank()
layers = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU()), torch.nn.Sequential(torch.nn.Linear(8, 8))
model = layers[rank]
stage = PipelineStage(model, rank, dist.get_world_size(), torch.device("cpu"))
schedule = ScheduleGPipe(stage, n_microbatches=2, loss_fn=torch.nn.functional.mse_loss)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(8, 8), torch.randn(8, 8)
for _ in range(4):
    optimizer.zero_grad()
    schedule.step(x) if rank == 0 else schedule.step(target=y)
    optimizer.step()
torch.save(model.state_dict(), os.environ["WEIGHTS"] + f".{rank}")
dist.destroy_process_group()
