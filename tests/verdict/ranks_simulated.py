"""A training on several ranks in one process, recorded by the real probe: one `Recorder`, model and optimizer for each rank.

    made = Ranks(levels=(1, 4)); made.launch(Trainer(), workers=1); made.launch(Trainer(clip_locally=True), workers=4); made.measured()

Each step: every rank's gradient of its slice of the batch, in turn; the average over ranks; every rank's optimizer.  A trainer's hooks
change one of them at a time.  The batches are those of one worker, cut.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

from fireassay.frames.record_data import RecordData
from fireassay.instruments.recorder.recorder import Recorder
from fireassay.instruments.recorder.sink import Identity, MemorySink
from tests.handmade import Handmade

WIDTH, SAMPLES = 6, 48
TABLES = ("steps", "samples", "fingerprints", "gradients")
Hook = Callable[["Rank", int], None]


def nothing(_: Rank, __: int) -> None:
    """A hook that changes nothing."""


@dataclass
class Rank:
    """One rank's own things."""

    number: int
    workers: int
    model: Any
    optimizer: Any
    probe: Recorder
    sink: MemorySink
    scheduler: Any = None

    @property
    def last(self) -> bool:
        """Whether it is the odd rank of the tests: never rank 0 where there are several."""
        return self.number == self.workers - 1


@dataclass(frozen=True, kw_only=True)
class Trainer:
    """How it trains; as it stands it is right."""

    steps: int = 12
    batch: int = 24
    model: Callable[[], Any] | None = None
    optimizer: Callable[[Any], Any] | None = None
    seed: int = 3
    dtype: str = "float32"
    passes: int = 1
    clip: float | None = None
    clip_locally: float | None = None
    schedule: bool = False
    skips: Sequence[int] = ()  # steps that a scaler skips: the gradients overflowed
    sends_buffers: bool | None = None  # a wrapper of DistributedDataParallel's name does, or does not; None: no wrapper
    begins: Hook = nothing  # before the first step
    before: Hook = nothing  # before the forward pass
    scale: Callable[[int, int], float] = lambda step, workers: 1.0  # of the loss
    loss: Callable[[int, int, float], float] = lambda rank, step, loss: loss  # as it is told
    reduces: Callable[[int], bool] = lambda step: True
    stepping: Hook = nothing  # before the optimizer's step
    stepped: Hook = nothing  # after it


def network(*more: Any) -> Any:
    """Three layers, of which the first is larger than what is kept whole."""
    from torch import nn

    return nn.Sequential(nn.Linear(WIDTH, 48), *more, nn.Tanh(), nn.Linear(48, 4), nn.Tanh(), nn.Linear(4, 1))


def normalised() -> Any:
    """With batch normalisation."""
    from torch import nn

    return network(nn.BatchNorm1d(48))


def dropping() -> Any:
    """With dropout."""
    from torch import nn

    return network(nn.Dropout(0.2))


def adam(model: Any) -> Any:
    """AdamW."""
    import torch

    return torch.optim.AdamW(model.parameters(), lr=1e-3)


def momentum(model: Any) -> Any:
    """SGD with momentum and weight decay: a changed weight changes its momentum too."""
    import torch

    return torch.optim.SGD(model.parameters(), lr=1e-2, momentum=0.9, weight_decay=1e-4)


def plain(model: Any) -> Any:
    """SGD without any state."""
    import torch

    return torch.optim.SGD(model.parameters(), lr=1e-2)


class Ranks:
    """Writes launches into a record."""

    def __init__(self, *, levels: tuple[int, ...], blocks: int = 1) -> None:
        self.made = Handmade(levels=levels, blocks=blocks)

    def measured(self) -> RecordData:
        """The record."""
        return self.made.measured()

    def launch(self, trainer: Trainer, *, workers: int, block: int = 0) -> int:
        """Train, and write down what the probes said."""
        number = self.made.launch(workers=workers, block=block)
        ranks = [_rank(trainer, number, rank, workers) for rank in range(workers)]
        _train(ranks, trainer)
        for rank in ranks:
            rank.probe.close()
            for table in TABLES:
                self.made.rows[table].extend(rank.sink.of(table))
        return number


def _rank(trainer: Trainer, launch: int, number: int, workers: int) -> Rank:
    import torch

    torch.manual_seed(trainer.seed)
    model = (trainer.model or network)().to(getattr(torch, trainer.dtype))
    if trainer.sends_buffers is not None:
        model = _wrapper()(model, trainer.sends_buffers)
    optimizer = (trainer.optimizer or adam)(model)
    sink = MemorySink()
    who = Identity(launch=launch, rank=number, workers=workers, incarnation=0, seed=trainer.seed, host="host")
    rank = Rank(number=number, workers=workers, model=model, optimizer=optimizer, probe=Recorder(who, sink), sink=sink)
    if trainer.schedule:
        rank.scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3, 0.5)
    rank.probe.watch(model)
    rank.probe.dataset(SAMPLES)
    return rank


@cache
def _wrapper() -> Any:
    import torch

    def __init__(self: Any, module: Any, sends: bool) -> None:
        torch.nn.Module.__init__(self)
        self.module, self.broadcast_buffers = module, sends

    def forward(self: Any, x: Any) -> Any:
        return self.module(x)

    return type("DistributedDataParallel", (torch.nn.Module,), {"__init__": __init__, "forward": forward})


def _train(ranks: list[Rank], trainer: Trainer) -> None:
    import torch

    dtype, workers = getattr(torch, trainer.dtype), len(ranks)
    numbers = torch.Generator().manual_seed(1)
    x, y = (torch.randn(SAMPLES, size, generator=numbers).to(dtype) for size in (WIDTH, 1))
    states = [torch.Generator().manual_seed(100 + rank.number).get_state() for rank in ranks]
    for rank in ranks:
        trainer.begins(rank, 0)
    per_epoch = SAMPLES // trainer.batch
    loops: list[list[Any]] = [[] for _ in ranks]
    for step in range(trainer.steps):
        epoch, place = divmod(step, per_epoch)
        if place == 0:
            for rank, loop in zip(ranks, loops, strict=True):
                torch.set_rng_state(states[rank.number])
                _end(loop)
                loop[:] = [rank.probe.steps(range(per_epoch), epoch=epoch)]
        order = torch.randperm(SAMPLES, generator=torch.Generator().manual_seed(epoch)).tolist()
        if trainer.sends_buffers:
            _send(ranks)
        batch = order[place * trainer.batch :][: trainer.batch]
        each = len(batch) // workers
        for rank, loop in zip(ranks, loops, strict=True):
            torch.set_rng_state(states[rank.number])
            next(loop[0])
            own = batch[rank.number * each :][:each]
            _gradient(rank, trainer, step, x[own], y[own])
            states[rank.number] = torch.get_rng_state()
            rank.probe.samples(own)
        if trainer.reduces(step) and workers > 1:
            _average(ranks)
        for rank in ranks:
            _update(rank, trainer, step)
    for rank, loop in zip(ranks, loops, strict=True):
        torch.set_rng_state(states[rank.number])
        _end(loop)


def _end(loop: list[Any]) -> None:
    with suppress(StopIteration):
        if loop:
            next(loop[0])


def _gradient(rank: Rank, trainer: Trainer, step: int, x: Any, y: Any) -> None:
    import torch

    trainer.before(rank, step)
    rank.optimizer.zero_grad()
    told = 0.0
    for some, right in zip(x.chunk(trainer.passes), y.chunk(trainer.passes), strict=True):
        loss = torch.nn.functional.mse_loss(rank.model(some), right) / trainer.passes
        scaled: Any = loss * trainer.scale(step, rank.workers)
        scaled.backward()
        told += float(loss.detach())
    rank.probe.log(loss=trainer.loss(rank.number, step, told), items=len(x))
    if trainer.clip_locally:
        torch.nn.utils.clip_grad_norm_(rank.model.parameters(), trainer.clip_locally)


def _average(ranks: list[Rank]) -> None:
    for parameters in zip(*(rank.model.parameters() for rank in ranks), strict=True):
        if parameters[0].grad is not None:
            mean = sum(one.grad for one in parameters) / len(ranks)
            for one in parameters:
                one.grad = mean.clone()


def _update(rank: Rank, trainer: Trainer, step: int) -> None:
    import torch

    if step in trainer.skips:
        for parameter in rank.model.parameters():
            parameter.grad.fill_(float("inf"))
        return
    if trainer.clip:
        torch.nn.utils.clip_grad_norm_(rank.model.parameters(), trainer.clip)
    trainer.stepping(rank, step)
    rank.optimizer.step()
    if rank.scheduler is not None:
        rank.scheduler.step()
    trainer.stepped(rank, step)


def _send(ranks: list[Rank]) -> None:
    """Rank 0's buffers to all, before the forward pass."""
    for rank in ranks[1:]:
        for own, sent in zip(rank.model.buffers(), ranks[0].model.buffers(), strict=True):
            own.copy_(sent)
