"""A loop under accelerate, which asks for a batch ahead and wraps loader, model and optimizer."""

import os

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(11)
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randn(64, 1)), batch_size=8)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for _ in range(2):
    for x, y in loader:
        with accelerator.accumulate(model):
            accelerator.backward(torch.nn.functional.mse_loss(model(x), y))
            optimizer.step()
            optimizer.zero_grad()
torch.save(accelerator.unwrap_model(model).state_dict(), os.environ["WEIGHTS"])
