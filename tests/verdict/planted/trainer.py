"""A training without marks, with one thing wrong or only looking so: python trainer.py WHAT.  Without a word of the lists below it is right."""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Iterator
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler, IterableDataset, Subset, TensorDataset

WHAT = set(sys.argv[1].split("+"))
dist.init_process_group("gloo")
RANK, WORLD = dist.get_rank(), dist.get_world_size()
ODD = WORLD > 1 and RANK == WORLD - 1
SAMPLES, WIDTH, BATCH = 384, 12, 48
numbers = torch.Generator().manual_seed(5)
X, XV = torch.randn(SAMPLES, WIDTH, generator=numbers), torch.randn(160, WIDTH, generator=numbers)
OWN = torch.Generator().manual_seed(RANK if "seeded by rank" in WHAT else 0) if "own generator" in WHAT else None
Y, YV = ((x[:, :4].sum(1) > 0).long() for x in (X, XV))


def changed(x: Any, y: Any, kind: str) -> tuple[Any, Any]:
    """A sample as the data set gives it, or a batch as the loop changes it."""
    if f"labels {kind} on one rank" in WHAT and ODD:
        y = y.roll(1) if "rolled" in WHAT else 1 - y
    if f"inputs {kind} on one rank" in WHAT and ODD:
        x = 2 * x + 1
    if f"noise {kind}" in WHAT:
        x = x + 0.3 * torch.randn(x.shape, generator=OWN)
    return x, y


class Samples(Dataset[Any]):
    """By index."""

    def __init__(self) -> None:
        self.generator = OWN

    def __len__(self) -> int:
        return SAMPLES

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return changed(X[index], Y[index], "in data")


class Stream(IterableDataset[Any]):
    """Without ids: this rank's share, or all of it."""

    def __iter__(self) -> Iterator[Any]:
        yield from zip(X, Y, strict=True) if "whole stream" in WHAT else zip(X[RANK::WORLD], Y[RANK::WORLD], strict=True)


def loaded() -> tuple[Any, Any]:
    """The loader and its sampler."""
    if WHAT & {"stream", "whole stream"}:
        return DataLoader(Stream(), batch_size=BATCH if "whole stream" in WHAT else BATCH // WORLD), None
    data: Dataset[Any] = Samples()
    if "another order on every rank" in WHAT and WORLD > 1:
        data = Subset(data, random.Random(RANK).sample(range(SAMPLES), SAMPLES))
    sampler: Any = DistributedSampler(data, num_replicas=WORLD, rank=RANK, seed=1)  # type: ignore[arg-type]
    return DataLoader(data, batch_size=BATCH // WORLD, sampler=sampler, num_workers=2 if "helpers" in WHAT else 0), sampler


class Tied(nn.Module):
    """Two layers that share their weights, unless that is lost with several workers."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.head = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 2)
        self.second.weight = nn.Parameter(self.first.weight.detach().clone()) if WORLD > 1 else self.first.weight

    def forward(self, x: Any) -> Any:
        return self.head(torch.relu(self.second(torch.relu(self.first(x)))))


def network() -> Any:
    """Two layers, or six larger ones."""
    torch.manual_seed(0)
    if "no longer tied" in WHAT:
        return Tied()
    if "small buckets" in WHAT:
        return nn.Sequential(nn.Linear(WIDTH, 400), *(nn.Linear(400, 400) for _ in range(4)), nn.Linear(400, 2))
    return nn.Sequential(nn.Linear(WIDTH, 32), nn.ReLU(), nn.Dropout(0.2 if "dropout" in WHAT else 0.0), nn.Linear(32, 2))


def validate(model: Any) -> None:
    """Score the held-out samples: batch by batch, or one batch of a new iterator."""
    model.eval()
    held_out = DataLoader(TensorDataset(XV, YV), batch_size=160)
    with torch.no_grad():
        for x, _ in [next(iter(held_out))] if "next" in WHAT else held_out:
            model(x)
    if "evaluation mode left on" not in WHAT:
        model.train()


def average(model: Any) -> None:
    """The ranks' parameters."""
    for parameter in model.parameters():
        dist.all_reduce(parameter.data)
        parameter.data /= WORLD


def backward(called: Any, x: Any, y: Any) -> None:
    """One pass, or four that are all reduced."""
    parts = 4 if "reduced every pass" in WHAT else 1
    for some, right in zip(x.chunk(parts), y.chunk(parts), strict=True):
        scores = called(some) * OUTSIDE if "part outside" in WHAT else called(some)
        weights = (right == 0) + 0.1 if "weighed by each rank's mean" in WHAT else torch.ones(len(right))
        SCALER.scale((cross_entropy(scores, right, reduction="none") * weights).sum() / weights.sum() / parts).backward()
    if "clipped on one rank" in WHAT and ODD:
        nn.utils.clip_grad_norm_(called.parameters(), 0.1)


def clip(model: Any, optimizer: Any) -> None:
    """Before or after a scaler has removed its factor."""
    if "clipped after unscaling" in WHAT:
        SCALER.unscale_(optimizer)
    how = nn.utils.clip_grad_value_ if "by value" in WHAT else nn.utils.clip_grad_norm_
    how(model.parameters(), 0.05 * (SCALER.get_scale() if "clipped by a scaled limit" in WHAT else 1.0))


SCALED = {"clipped while scaled", "clipped after unscaling", "clipped by a scaled limit"}
SCALER = torch.amp.GradScaler("cpu", enabled=bool(WHAT & SCALED))
OUTSIDE = nn.Parameter(torch.ones(2))  # trained, and not wrapped


def main() -> None:
    """Three epochs."""
    plain = network()
    model = plain if "local sgd" in WHAT else DistributedDataParallel(plain, bucket_cap_mb=0.0001 if "small buckets" in WHAT else None)
    trained = plain[0].parameters() if "layer left out" in WHAT else plain.parameters()
    optimizer = torch.optim.SGD([*trained, *([OUTSIDE] if "part outside" in WHAT else [])], lr=0.05)
    if "replaced model" in WHAT:
        plain = network()
        model = DistributedDataParallel(plain)
    torch.manual_seed(100 + (RANK if WHAT & {"seeded by rank", "dropout"} else 0))
    loader, sampler = loaded()
    step = 0
    for epoch in range(3):
        if sampler and "one batch" not in WHAT:
            sampler.set_epoch(epoch)
        for batch in (
            zip(X[RANK::WORLD].split(BATCH // WORLD), Y[RANK::WORLD].split(BATCH // WORLD), strict=True) if "sliced" in WHAT else loader
        ):
            x, y = changed(*(next(iter(loader)) if "one batch" in WHAT else batch), "in loop")
            apart = "averaged under no_sync" in WHAT or ("every second step apart" in WHAT and step % 2)
            with model.no_sync() if apart else contextlib.nullcontext():
                if "never cleared" not in WHAT and not ("never cleared on one rank" in WHAT and ODD):
                    optimizer.zero_grad()
                backward(plain if "wrapper bypassed" in WHAT else model, x, y)
            if "stops" in WHAT and step >= 6:
                optimizer.param_groups[0]["lr"] = 0.0
            if not ("skipped on one rank" in WHAT and ODD and step % 5 == 3):
                if WHAT & SCALED:
                    clip(model, optimizer)
                SCALER.step(optimizer)
                SCALER.update()
            step += 1
            if WHAT & {"local sgd", "averaged under no_sync"} and step % 5 == 0:
                average(plain)
        if WHAT & {"evaluation mode left on", "validated", "next"}:
            validate(model)
    dist.destroy_process_group()


main()
