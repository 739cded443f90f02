"""Local SGD: every rank trains on its own samples, and the parameters are averaged every third step."""

import os

import torch
import torch.distributed as dist

RANK, WORLD = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
if WORLD > 1:
    dist.init_process_group("gloo")
torch.manual_seed(23)
data = torch.utils.data.TensorDataset(torch.randn(128, 8), torch.randint(0, 3, (128,)))
sampler = torch.utils.data.DistributedSampler(data, num_replicas=WORLD, rank=RANK)
loader = torch.utils.data.DataLoader(data, batch_size=16 // WORLD, sampler=sampler)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
done = 0
for epoch in range(2):
    sampler.set_epoch(epoch)
    for x, y in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        done += 1
        if done % 3 == 0 and WORLD > 1:
            for parameter in model.parameters():
                dist.all_reduce(parameter.data)
                parameter.data /= WORLD
torch.save(model.state_dict(), os.environ["WEIGHTS"] + f".{RANK}")
if WORLD > 1:
    dist.destroy_process_group()
