"""How long until a small network reads handwritten digits well enough?  An unmodified script that prints its accuracy after every epoch.

    torchrun --standalone --nproc-per-node 1 examples/target/train.py --seed 1          # without assay
    assay run examples/target.toml

The global batch is the same for every worker count; `--batch 0` lets it grow with the workers instead (64 images each).
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

DIGITS = Path(__file__).parents[1] / "digits" / "digits.csv.gz"
TRAIN = 1280  # of 1,797 images; the rest is held out


def data() -> tuple[TensorDataset, TensorDataset]:
    """Images that are trained on, and those held out: the same split in every launch."""
    rows = torch.tensor(np.loadtxt(DIGITS, delimiter=",", dtype=np.int64))
    rows = rows[torch.randperm(len(rows), generator=torch.Generator().manual_seed(0))]
    images, labels = rows[:, :64] / 16, rows[:, 64]
    return TensorDataset(images[:TRAIN], labels[:TRAIN]), TensorDataset(images[TRAIN:], labels[TRAIN:])


@torch.no_grad()
def accuracy(model: nn.Module, held_out: TensorDataset) -> float:
    """The share of held-out images that are read right."""
    images, labels = held_out.tensors
    return float((model(images).argmax(dim=1) == labels).float().mean())


def main() -> None:
    """Train for some epochs, and evaluate after each on rank 0."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--batch", type=int, default=64, help="of all workers; 0: 64 each")
    args = parser.parse_args()
    dist.init_process_group("gloo")
    rank, workers = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.manual_seed(args.seed)
    train, held_out = data()
    model = DistributedDataParallel(nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    sampler = DistributedSampler(train, seed=args.seed)
    loader = DataLoader(train, batch_size=args.batch // workers or 64, sampler=sampler)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        for images, labels in loader:
            optimizer.zero_grad()
            cross_entropy(model(images), labels).backward()
            optimizer.step()
        model.eval()
        if rank == 0:
            print(f"epoch {epoch + 1}: test accuracy {accuracy(model.module, held_out):.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
