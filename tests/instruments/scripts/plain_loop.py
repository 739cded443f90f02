"""A loop as in a first tutorial: a loader, a model, a loss, an optimizer, an evaluation after every epoch."""

import os

import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
images, labels = torch.randn(96, 8), torch.randint(0, 3, (96,))
train = DataLoader(TensorDataset(images[:64], labels[:64]), batch_size=16, shuffle=True)
held_out = DataLoader(TensorDataset(images[64:], labels[64:]), batch_size=8)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.BatchNorm1d(16), torch.nn.ReLU(), torch.nn.Linear(16, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
loss_of = torch.nn.CrossEntropyLoss()
for _ in range(3):
    model.train()
    for batch, target in train:
        optimizer.zero_grad()
        loss = loss_of(model(batch), target)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        right = sum(int((model(batch).argmax(1) == target).sum()) for batch, target in held_out)
torch.save(model.state_dict(), os.environ["WEIGHTS"])
