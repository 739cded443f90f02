"""Tensor parallelism by hand: the first layer is cut by columns, the second by rows, and all ranks read the same batches."""

import os

import torch
import torch.distributed as dist

RANK, WORLD = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
HIDDEN = 16


class Gathered(torch.autograd.Function):
    """Sum over the ranks; its gradient is every rank's own."""

    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        if WORLD > 1:
            dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class Split(torch.nn.Module):
    """One rank's part of two layers."""

    def __init__(self):
        super().__init__()
        whole = torch.nn.Linear(8, HIDDEN), torch.nn.Linear(HIDDEN, 3)
        own = slice(RANK * HIDDEN // WORLD, (RANK + 1) * HIDDEN // WORLD)
        self.columns = torch.nn.Parameter(whole[0].weight.data[own].clone())
        self.rows = torch.nn.Parameter(whole[1].weight.data[:, own].clone())

    def forward(self, x):
        return Gathered.apply(torch.relu(x @ self.columns.T) @ self.rows.T)


if WORLD > 1:
    dist.init_process_group("gloo")
torch.manual_seed(21)
data = torch.utils.data.TensorDataset(torch.randn(64, 8), torch.randint(0, 3, (64,)))
model = Split()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    for x, y in torch.utils.data.DataLoader(data, batch_size=8, shuffle=True):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
torch.save(model.state_dict(), os.environ["WEIGHTS"] + f".{RANK}")
if WORLD > 1:
    dist.destroy_process_group()
