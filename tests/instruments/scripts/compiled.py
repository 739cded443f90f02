"""A compiled model that may not break its graph."""

import os

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(8)
loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randn(64, 1)), batch_size=16)
plain = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
model = torch.compile(plain, backend="aot_eager", fullgraph=True)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
for _ in range(2):
    for x, y in loader:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
torch.save(plain.state_dict(), os.environ["WEIGHTS"])
