"""A training with a fault, to be watched: nothing, a slow rank, a slow loader on one rank or on all, a late checkpoint, uneven batches."""

from __future__ import annotations

import argparse
import time

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

FAULTS = ("none", "slow", "data", "data_everywhere", "uneven")


class Rows(Dataset[tuple[Tensor, Tensor]]):
    """Random rows; every read takes `wait_s`."""

    def __init__(self, rows: int, wait_s: float) -> None:
        self.rows, self.wait_s = rows, wait_s
        self.x = torch.randn(64, 256)

    def __len__(self) -> int:
        return self.rows

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        if self.wait_s:
            time.sleep(self.wait_s)
        return self.x[index % 64], torch.tensor(index % 10)


class Slow(nn.Module):
    """Repeats a layer's product."""

    def __init__(self, width: int, times: int) -> None:
        super().__init__()
        self.layer, self.times = nn.Linear(width, width), times

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(self.times):
            y = self.layer(x)
        return y.relu()


def main() -> None:
    """Train for so many seconds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fault", choices=FAULTS, default="none")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--steps", type=int, default=10**9)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--width", type=int, default=1024)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    struck = rank == 1
    wait_s = 0.001 if args.fault == "data_everywhere" or (args.fault == "data" and struck) else 0.0
    times = 12 if args.fault == "slow" and struck else 1
    model = DistributedDataParallel(
        nn.Sequential(nn.Linear(256, args.width), nn.ReLU(), Slow(args.width, times), nn.Linear(args.width, 10))
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    end = time.monotonic() + args.seconds
    step, going = 0, torch.ones(1)
    while going.item() and step < args.steps:
        more = 1 if args.fault == "uneven" and not struck else 0
        for x, y in DataLoader(Rows(args.batch * (40 + more), wait_s), batch_size=args.batch):
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if rank == 0 and step % 10 == 0:
                print(f"step {step} loss {loss.item():.4f} {time.monotonic():.3f}", flush=True)
        if args.fault == "uneven":
            dist.barrier()
        going.fill_(float(time.monotonic() < end))
        dist.broadcast(going, 0)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
