"""Samples come as a stream, which has no length and no indices; every five steps some are looked at without gradients."""

import os
from collections.abc import Iterator

import torch
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

torch.manual_seed(15)


class Stream(IterableDataset[tuple[torch.Tensor, torch.Tensor]]):
    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        for _ in range(80):
            x = torch.randn(4)
            yield x, x.sum(0, keepdim=True)


held_out = DataLoader(TensorDataset(torch.randn(16, 4)), batch_size=8)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.Adagrad(model.parameters(), lr=1e-2)
for number, (x, y) in enumerate(DataLoader(Stream(), batch_size=8), start=1):
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
    if number % 5 == 0:
        with torch.inference_mode():
            for (x,) in held_out:
                model(x)
torch.save(model.state_dict(), os.environ["WEIGHTS"])
