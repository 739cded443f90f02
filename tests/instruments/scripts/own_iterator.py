"""Batches come from a generator of the script's own."""

import os
from collections.abc import Iterator

import torch

torch.manual_seed(5)


def batches(number: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    for _ in range(number):
        x = torch.randn(8, 4)
        yield x, x.sum(1, keepdim=True)


model = torch.nn.Linear(4, 1)
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-2)
for x, y in batches(10):
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
torch.save(model.state_dict(), os.environ["WEIGHTS"])
