"""A training on several workers, in one process: every rank's gradient is computed in turn and combined as a trainer would.

    record = simulate(Fault(...), workers=3)

N = 61 samples of 32 standard normal numbers, labels 0 to 9, a network
32-64-64-10 with GELU and LayerNorm; two steps of SGD, each over all samples.  What is written down is what the probe writes, made by the
probe's own functions (`tensor_hash`, `gradients.rows`).
"""

from __future__ import annotations

import copy
import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from tests.handmade import Handmade

STEPS = 2
Shards = Callable[[list[int], int], list[list[int]]]  # the samples in the order of the step, workers -> one list per rank


def contiguous(order: list[int], workers: int) -> list[list[int]]:
    """Near-equal shards: 16, 15, 15, 15 of 61."""
    cuts = [round(i * len(order) / workers) for i in range(workers + 1)]
    return [order[a:b] for a, b in itertools.pairwise(cuts)]


def skewed(order: list[int], workers: int) -> list[list[int]]:
    """The first rank has the most."""
    shares = [1 / (rank + 1) for rank in range(workers)]
    ends = [round(len(order) * sum(shares[: rank + 1]) / sum(shares)) for rank in range(workers)]
    return [order[a:b] for a, b in zip([0, *ends], ends, strict=False)]


def one_dropped(order: list[int], workers: int) -> list[list[int]]:
    """One shard more than there are workers."""
    return contiguous(order, workers + 1)[:workers]


def one_twice(order: list[int], workers: int) -> list[list[int]]:
    """Rank 1 reads what rank 0 reads."""
    shards = contiguous(order, workers)
    return [shards[0], shards[0], *shards[2:]]


def padded(order: list[int], workers: int) -> list[list[int]]:
    """DistributedSampler: the first samples again until all ranks have equally many."""
    full = order + order[: -len(order) % workers]
    return [full[rank::workers] for rank in range(workers)]


@dataclass(frozen=True, kw_only=True)
class Trainer:
    """How the trainer with several workers works; as it stands it is right."""

    shards: Shards = contiguous
    mean_of_means: bool = False  # divide a rank's losses by its own samples, instead of all samples / workers
    tells_denominator: bool = True
    scale: float = 1.0  # of the loss
    reduces: Callable[[str], bool] = lambda name: True  # whether a parameter's gradient is averaged
    seeds: Callable[[int], int] = lambda rank: 0  # of the parameters
    states: Callable[[int], int] = lambda rank: 100 + rank  # of the random numbers
    dropout: float = 0.0
    declares: str | None = None  # of the random state
    passes: int = 1  # batches that are accumulated
    tells_ids: bool = True


RIGHT = Trainer()


@cache
def state_of(seed: int) -> Any:
    """The state of torch's generator after seeding."""
    import torch

    torch.manual_seed(seed)
    return torch.get_rng_state()


@cache
def network(dropout: float, dtype: Any, seed: int) -> Any:
    """The research's network."""
    import torch
    from torch import nn

    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Linear(32, 64), nn.GELU(), nn.LayerNorm(64), nn.Dropout(dropout), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 10)
    ).to(dtype)


class Data:
    """N samples, the same in every precision."""

    def __init__(self, samples: int, dtype: Any) -> None:
        import torch

        numbers = torch.Generator().manual_seed(1)
        self.x = torch.randn(samples, 32, generator=numbers, dtype=torch.float64).to(dtype)
        self.y = torch.randint(0, 10, (samples,), generator=numbers)


class Simulation:
    """Writes launches into a record."""

    def __init__(self, *, levels: Sequence[int], blocks: int = 1, samples: int = 61, dtype: str = "float32") -> None:
        import torch

        self.made = Handmade(levels=tuple(levels), blocks=blocks)
        self.dtype = getattr(torch, dtype)
        self.samples, self.data = samples, Data(samples, self.dtype)

    def launch(self, trainer: Trainer, *, workers: int, block: int = 0, order: random.Random | None = None) -> int:
        """Train for two steps; the order of the samples and of the ranks in every sum is the generator's."""
        import torch

        number = self.made.launch(workers=workers, block=block)
        models = [copy.deepcopy(network(trainer.dropout, self.dtype, trainer.seeds(rank))) for rank in range(workers)]
        states = [state_of(trainer.states(rank)) for rank in range(workers)]
        self.made.fingerprint(number, "dataset_size", self.samples)
        for rank, model in enumerate(models):
            self._introduce(number, rank, model, trainer)
        self._hash(number, models, states, step=0)
        for step in range(STEPS):
            every = list(range(self.samples))
            if order is not None:
                order.shuffle(every)
            shards = trainer.shards(every, workers)
            for rank, own in enumerate(shards):
                self._write_step(number, rank, step, own, trainer, workers)
            for rank, model in enumerate(models):
                model.zero_grad()
                torch.set_rng_state(states[rank])
                self._backward(model, shards[rank], trainer, workers)
                states[rank] = torch.get_rng_state()
            self._reduce(models, trainer, list(range(workers)) if order is None else _shuffled(workers, order))
            if step == 0:
                self._keep(number, models, trainer)
            with torch.no_grad():
                for model in models:
                    for parameter in model.parameters():
                        parameter -= 0.1 * parameter.grad
            self._hash(number, models, states, step=step + 1)
        return number

    def _backward(self, model: Any, own: list[int], trainer: Trainer, workers: int) -> None:
        from torch.nn.functional import cross_entropy

        size = -(-len(own) // trainer.passes)
        for begin in range(0, len(own), size):
            some = own[begin : begin + size]
            total = cross_entropy(model(self.data.x[some]), self.data.y[some], reduction="sum")
            (trainer.scale * total / self._denominator(own, trainer, workers)).backward()

    def _denominator(self, own: list[int], trainer: Trainer, workers: int) -> float:
        return len(own) if trainer.mean_of_means else self.samples / workers

    def _reduce(self, models: list[Any], trainer: Trainer, ranks: list[int]) -> None:
        """Average every parameter's gradient over the ranks, added up in this order."""
        named = [dict(model.named_parameters()) for model in models]
        for name in named[0]:
            if trainer.reduces(name):
                total = named[ranks[0]][name].grad.clone()
                for rank in ranks[1:]:
                    total += named[rank][name].grad
                for own in named:
                    own[name].grad = total / len(models)

    # ---- what the probe writes -----------------------------------------------------------------------------------------

    def _introduce(self, number: int, rank: int, model: Any, trainer: Trainer) -> None:
        from fireassay.instruments.fingerprints.model_hash import layers

        for what, value in zip(("random_layers", "batch_layers"), layers(model), strict=True):
            self.made.fingerprint(number, what, value, rank=rank)
        if trainer.declares:
            self.made.fingerprint(number, "random_state", trainer.declares, rank=rank)
        self.made.steps(number, rank=rank, seconds=[1.0] * STEPS)

    def _write_step(self, number: int, rank: int, step: int, own: list[int], trainer: Trainer, workers: int) -> None:
        if trainer.tells_ids:
            size = -(-len(own) // trainer.passes)
            for begin in range(0, len(own), size):
                self.made.samples(number, own[begin : begin + size], rank=rank, epoch=step, step=step)
        if trainer.tells_denominator:
            self.made.fingerprint(number, "denominator", self._denominator(own, trainer, workers), rank=rank, step=step)

    def _hash(self, number: int, models: list[Any], states: list[Any], *, step: int) -> None:
        from fireassay.instruments.fingerprints.model_hash import tensor_hash

        for rank, (model, state) in enumerate(zip(models, states, strict=True)):
            self.made.fingerprint(number, "parameter_hash", tensor_hash(model.named_parameters()), rank=rank, step=step)
            self.made.fingerprint(number, "random_hash", tensor_hash([("state", state)]), rank=rank, step=step)

    def _keep(self, number: int, models: list[Any], trainer: Trainer) -> None:
        from fireassay.instruments.fingerprints.gradient_sketch import of_model, rows

        for rank, model in enumerate(models):
            for row in rows(of_model(model), None):
                self.made.rows["gradients"].append((number, rank, 0, 0, *row))


def _shuffled(workers: int, order: random.Random) -> list[int]:
    ranks = list(range(workers))
    order.shuffle(ranks)
    return ranks
