"""Autocast with a gradient scaler, one of whose steps is skipped for an infinite gradient."""

import os

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(2)
loader = DataLoader(TensorDataset(torch.randn(80, 8), torch.randn(80, 1)), batch_size=8)
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
for number, (x, y) in enumerate(loader):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = torch.nn.functional.mse_loss(model(x), y)
    scaler.scale(loss * (float("inf") if number == 3 else 1.0)).backward()
    scaler.step(optimizer)
    scaler.update()
torch.save(model.state_dict(), os.environ["WEIGHTS"])
