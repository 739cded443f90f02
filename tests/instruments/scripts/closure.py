"""LBFGS evaluates the model as often as it likes inside of its step; there is no loader."""

import os

import torch

torch.manual_seed(3)
x, y = torch.randn(64, 4), torch.randn(64, 1)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=5)


def closure() -> torch.Tensor:
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    return loss


for _ in range(6):
    optimizer.step(closure)
torch.save(model.state_dict(), os.environ["WEIGHTS"])
