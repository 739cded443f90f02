"""The optimizer is given a function that asks for the gradients, and the model is made after the loader was begun."""

import os

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(16)
batches = iter(DataLoader(TensorDataset(torch.randn(48, 4), torch.randn(48, 1)), batch_size=8))
x, y = next(batches)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-1)


def closure() -> torch.Tensor:
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    return loss


while True:
    optimizer.step(closure)
    try:
        x, y = next(batches)
    except StopIteration:
        break
torch.save(model.state_dict(), os.environ["WEIGHTS"])
