"""A generator and its critic: two models, two optimizers, three forward passes for a batch."""

import os

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(4)
loader = DataLoader(TensorDataset(torch.randn(64, 2)), batch_size=16, shuffle=True)
generator = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
critic = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
of_generator = torch.optim.Adam(generator.parameters(), lr=1e-3)
of_critic = torch.optim.Adam(critic.parameters(), lr=1e-3)
loss_of = torch.nn.BCEWithLogitsLoss()
for _ in range(2):
    for (real,) in loader:
        made = generator(torch.randn(len(real), 4))
        of_critic.zero_grad()
        told = loss_of(critic(real), torch.ones(len(real), 1)) + loss_of(critic(made.detach()), torch.zeros(len(real), 1))
        told.backward()
        of_critic.step()
        of_generator.zero_grad()
        fooled = loss_of(critic(made), torch.ones(len(real), 1))
        fooled.backward()
        of_generator.step()
torch.save([generator.state_dict(), critic.state_dict()], os.environ["WEIGHTS"])
