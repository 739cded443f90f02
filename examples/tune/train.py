"""A small classifier of handwritten digits with the knobs that people turn: batch split, loader workers, size of DDP's buckets.

    torchrun --standalone --nproc-per-node 2 examples/tune/train.py --accumulate 2     # without assay
    assay tune examples/tune.toml                                                      # which setting is better than today's?

The global batch is the same whatever the knobs, so that every setting is the same training.
"""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Subset, TensorDataset
from torch.utils.data.distributed import DistributedSampler

from fireassay import probe

DIGITS = Path(__file__).resolve().parents[1] / "digits" / "digits.csv.gz"
TRAIN, GLOBAL_BATCH, WIDTH = 1280, 256, 512


def network() -> nn.Module:
    """(n, 64) pixels -> (n, 10) scores."""
    hidden = [layer for _ in range(3) for layer in (nn.Linear(WIDTH, WIDTH), nn.ReLU())]
    return nn.Sequential(nn.Linear(64, WIDTH), nn.ReLU(), *hidden, nn.Linear(WIDTH, 10))


def main() -> None:
    """Train and evaluate on all workers of this launch."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--accumulate", type=int, default=1, help="parts of a batch whose gradients are added up before they are sent")
    parser.add_argument("--loaders", type=int, default=0, help="processes that load data")
    parser.add_argument("--bucket-mb", type=float, default=25.0, help="gradients are sent in buckets of this size, MiB")
    args = parser.parse_args()
    dist.init_process_group("gloo")
    rank, workers = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(args.seed)
    model = DistributedDataParallel(network(), bucket_cap_mb=args.bucket_mb)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    digits = torch.tensor(np.loadtxt(DIGITS, delimiter=",", dtype=np.int64))  # 64 pixels from 0 to 16, then the digit
    images = digits[:, :64] / 16
    data = TensorDataset(images, digits[:, 64], torch.arange(len(images)))
    rows = torch.randperm(len(images), generator=torch.Generator().manual_seed(0)).tolist()
    train = Subset(data, rows[:TRAIN])
    sampler = DistributedSampler(train, workers, rank, seed=args.seed)
    loader = DataLoader(train, GLOBAL_BATCH // workers, sampler=sampler, num_workers=args.loaders)
    with probe.start() as p:
        p.watch(model)
        p.dataset(TRAIN)
        for epoch in range(args.epochs):
            sampler.set_epoch(epoch)
            for pixels, labels, ids in p.steps(loader, epoch=epoch):
                optimizer.zero_grad()
                parts = list(zip(pixels.chunk(args.accumulate), labels.chunk(args.accumulate), strict=True))
                for place, (some, wanted) in enumerate(parts):
                    with nullcontext() if place == len(parts) - 1 else model.no_sync():
                        with p.phase("forward"):
                            loss = cross_entropy(model(some), wanted) * len(some) / len(pixels)
                        with p.phase("backward"):
                            loss.backward()
                with p.phase("optimizer"):
                    optimizer.step()
                p.samples(ids)
        held_out = torch.tensor(rows[TRAIN:])[rank::workers]
        with p.evaluation(), torch.no_grad():
            predicted, target = model.module(images[held_out]).argmax(dim=1), digits[held_out, 64]
            p.examples(held_out, predicted == target, predictions=predicted, targets=target)
        p.useful_work(args.epochs * TRAIN)
    del model  # before its group, as in ../digits/train.py
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
