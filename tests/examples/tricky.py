"""Trainings that look broken and are right, and sharded ones, right and broken; each a variation of one loop, run by `several_trainers.py`.

48 samples of 12 numbers (53 where some are dropped), four steps of 24 in two epochs; every rank takes its slice of each batch, divides its
losses by the global batch / workers, and begins from the same seed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.functional import mse_loss
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DistributedSampler

from fireassay import probe

SAMPLES, BATCH, EPOCHS, WIDTH = 48, 24, 2, 12


def plain() -> nn.Module:
    return nn.Sequential(nn.Linear(WIDTH, 40), nn.Tanh(), nn.Linear(40, WIDTH), nn.Tanh(), nn.Linear(WIDTH, 1))


class Tied(nn.Module):
    """One matrix, used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.last = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 1)
        self.second.weight = self.first.weight

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.second(torch.tanh(self.first(x))))  # type: ignore[no-any-return]


class Branches(nn.Module):
    """Only one of two branches is used in each step."""

    def __init__(self) -> None:
        super().__init__()
        self.branches, self.calls = nn.ModuleList([plain(), plain()]), 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return self.branches[self.calls % 2](x)  # type: ignore[no-any-return]


def frozen() -> nn.Module:
    model = plain()
    for parameter in next(model.children()).parameters():
        parameter.requires_grad_(False)
    return model


def normalised() -> nn.Module:
    return nn.Sequential(nn.Linear(WIDTH, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))


def replicated(model: nn.Module, **words: Any) -> nn.Module:
    return DistributedDataParallel(model, **words)


def compressed(model: nn.Module) -> nn.Module:
    """Averaged in half precision on purpose."""
    from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook

    wrapped = DistributedDataParallel(model)
    wrapped.register_comm_hook(None, fp16_compress_hook)
    return wrapped


def sharded(model: nn.Module, **words: Any) -> nn.Module:
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for layer in [one for one in model if isinstance(one, nn.Linear)]:  # type: ignore[attr-defined]
        fully_shard(layer, mesh=mesh, **words)
    return fully_shard(model, mesh=mesh, **words)  # type: ignore[return-value]


def halves(model: nn.Module) -> nn.Module:
    """Computed in bfloat16, by FSDP's own policy."""
    return sharded(model, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32))


def hybrid(model: nn.Module) -> nn.Module:
    """Replicas of two parts each, where there are four workers."""
    workers = dist.get_world_size()
    mesh = init_device_mesh("cpu", (workers // 2, 2) if workers > 2 else (1, workers), mesh_dim_names=("copies", "parts"))
    for layer in [one for one in model if isinstance(one, nn.Linear)]:  # type: ignore[attr-defined]
        fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)  # type: ignore[return-value]


def adam(model: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.AdamW(model.parameters(), lr=1e-2)


def parted(model: nn.Module) -> torch.optim.Optimizer:
    """Every rank keeps the state of its own parameters."""
    return ZeroRedundancyOptimizer(model.parameters(), optimizer_class=torch.optim.AdamW, lr=1e-2)


def by_slices(epoch: int, rank: int, workers: int) -> Iterator[list[int]]:
    """Each rank its slice of every global batch."""
    order = torch.randperm(SAMPLES, generator=torch.Generator().manual_seed(epoch)).tolist()
    each = BATCH // workers
    for begin in range(0, SAMPLES, BATCH):
        yield order[begin + rank * each :][:each]


def by_sampler(epoch: int, rank: int, workers: int) -> Iterator[list[int]]:
    """DistributedSampler, of a number that it need not pad."""
    sampler: DistributedSampler[int] = DistributedSampler(range(SAMPLES), workers, rank, seed=3)  # type: ignore[arg-type]
    sampler.set_epoch(epoch)
    own, each = list(sampler), BATCH // workers
    for begin in range(0, len(own), each):
        yield own[begin : begin + each]


def dropping(epoch: int, rank: int, workers: int) -> Iterator[list[int]]:
    """Five samples fill no batch: the sampler and the loader leave them out."""
    data = range(SAMPLES + 5)
    sampler: DistributedSampler[int] = DistributedSampler(data, workers, rank, seed=3, drop_last=True)  # type: ignore[arg-type]
    sampler.set_epoch(epoch)
    own, each = list(sampler), BATCH // workers
    for begin in range(0, len(own) - each + 1, each):
        yield own[begin : begin + each]


@dataclass(frozen=True, kw_only=True)
class Variation:
    samples: int = SAMPLES
    model: Callable[[], nn.Module] = plain
    wrap: Callable[[nn.Module], nn.Module] = replicated
    optimizer: Callable[[nn.Module], torch.optim.Optimizer] = adam
    batches: Callable[[int, int, int], Iterator[list[int]]] = by_slices
    passes: int = 1
    dtype: torch.dtype = torch.float32
    autocast: bool = False
    clip: float | None = None
    divide: Callable[[int], float] = lambda workers: 1.0  # what the loss is divided by beyond what is right


TRICKY = {
    "sampler": Variation(batches=by_sampler),
    "dropping": Variation(batches=dropping, samples=SAMPLES + 5),
    "accumulated": Variation(passes=3),
    "clipped": Variation(clip=1e-3),
    "mixed": Variation(autocast=True),
    "zero": Variation(optimizer=parted),
    "tied": Variation(model=Tied),
    "frozen": Variation(model=frozen),
    "unused": Variation(model=Branches, wrap=lambda model: replicated(model, find_unused_parameters=True)),
    "normalised": Variation(model=normalised),
    "compressed": Variation(wrap=compressed),
    "sharded": Variation(wrap=sharded, dtype=torch.float64, clip=1e-2),
    "sharded_accumulated": Variation(wrap=sharded, passes=2),
    "sharded_halves": Variation(wrap=halves),
    "hybrid": Variation(wrap=hybrid, dtype=torch.float64),
    "sharded_scaled": Variation(wrap=sharded, dtype=torch.float64, divide=float),
    "sharded_mean_of_means": Variation(
        wrap=sharded, dtype=torch.float64, divide=lambda workers: 1.0 if dist.get_rank() else 1.0 / (1.0 + 0.5 * (workers - 1))
    ),
}


def train(how: Variation) -> object:
    """Four steps; what must not be taken apart yet."""
    dist.init_process_group("gloo")
    rank, workers = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(5)
    model = how.wrap(how.model().to(how.dtype))
    optimizer = how.optimizer(model)
    numbers = torch.Generator().manual_seed(1)
    x, y = (torch.randn(how.samples, size, generator=numbers).to(how.dtype) for size in (WIDTH, 1))
    right = BATCH / workers
    with probe.start() as p:
        p.watch(model)
        p.dataset(how.samples)
        for epoch in range(EPOCHS):
            for ids in p.steps(how.batches(epoch, rank, workers), epoch=epoch):
                optimizer.zero_grad()
                for number, some in enumerate(torch.tensor(ids).chunk(how.passes)):
                    with together(model, last=number == how.passes - 1), p.phase("forward"):
                        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=how.autocast):
                            found = model(x[some])
                        total: Any = mse_loss(found.to(how.dtype), y[some], reduction="sum")
                        (total / right / how.divide(workers)).backward()
                with p.phase("optimizer"):
                    if how.clip is not None:
                        nn.utils.clip_grad_norm_(model.parameters(), how.clip)
                    optimizer.step()
                p.samples(ids)
                p.log(loss=total.detach(), items=len(ids), denominator=right if how.divide(workers) == 1.0 else None)
    if os.environ.get("WORLD_SIZE") != "1":
        dist.barrier()
    dist.destroy_process_group()
    return model, optimizer


def together(model: nn.Module, *, last: bool) -> AbstractContextManager[Any]:
    """Gradients are averaged in the last pass alone."""
    return nullcontext() if last or not hasattr(model, "no_sync") else model.no_sync()  # type: ignore[operator]
