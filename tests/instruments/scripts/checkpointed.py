"""Activations are computed again in the backward pass; a gradient penalty asks for gradients on the way."""

import os

import torch
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(9)
loader = DataLoader(TensorDataset(torch.randn(48, 4), torch.randn(48, 1)), batch_size=8)
first, last = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Dropout(0.2)), torch.nn.Linear(16, 1)
optimizer = torch.optim.Adam([*first.parameters(), *last.parameters()], lr=1e-2)
for x, y in loader:
    x.requires_grad_(True)
    optimizer.zero_grad()
    answer = last(checkpoint(first, x, use_reentrant=False))
    (slope,) = torch.autograd.grad(answer.sum(), x, create_graph=True)
    loss = torch.nn.functional.mse_loss(answer, y) + 0.1 * slope.pow(2).mean()
    loss.backward()
    optimizer.step()
torch.save([first.state_dict(), last.state_dict()], os.environ["WEIGHTS"])
