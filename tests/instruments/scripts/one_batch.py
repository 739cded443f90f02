"""One batch, again and again, as in a benchmark with made data; two optimizers without a loader afterwards."""

import os

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(6)
x, y = next(iter(DataLoader(TensorDataset(torch.randn(32, 4), torch.randn(32, 1)), batch_size=16)))
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
for _ in range(12):
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(x), y).backward()
    optimizer.step()
torch.save(model.state_dict(), os.environ["WEIGHTS"])
