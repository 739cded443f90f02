"""A process group of threads: real data, no network, and a hand that can spoil a result.

world = World(3)
run(world, lambda distributed, rank: ...)     every rank in a thread of its own

`spoil(op, rank, number, inputs, result)` is called after each call of an operation on a rank and may change `result`, and
`World.roots` may send what one root was asked for to another one: the corruptions of a bad network, made on purpose.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from tests.lazy import torch
from tests.limits import PROCESS_S

Spoil = Callable[[str, int, int, "list[torch.Tensor]", "torch.Tensor"], None]


@dataclass
class World:
    """What the ranks share."""

    size: int
    spoil: Spoil | None = None
    lacks: Mapping[str, str] = field(default_factory=dict)  # operation -> what the engine says
    barrier: threading.Barrier = field(init=False)
    given: list[Any] = field(init=False)
    parts: dict[tuple[int, ...], World] = field(default_factory=dict)
    lock: Any = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.barrier = threading.Barrier(self.size, timeout=PROCESS_S)
        self.given = [None] * self.size


def _by_group(call: Callable[..., None]) -> Callable[..., None]:
    """A call in a group is the same call in a smaller world; a root is told by its number among all."""

    @functools.wraps(call)
    def made(self: Ranked, *words: Any, group: Ranked | None = None, **more: Any) -> None:
        if group is None:
            call(self, *words, **more)
        else:
            getattr(group, call.__name__)(*(one - group.first if isinstance(one, int) else one for one in words))

    return made


class Ranked:
    """torch.distributed, as one rank sees it."""

    ReduceOp = SimpleNamespace(MAX="max", SUM="sum")
    isend, irecv = "isend", "irecv"

    def __init__(self, world: World, rank: int, first: int = 0) -> None:
        self.world, self.rank, self.first, self.calls = world, rank, first, dict[str, int]()

    def new_group(self, ranks: list[int]) -> Ranked | None:
        """A group of consecutive ranks, as this one sees it; None where it is not in it."""
        with self.world.lock:
            part = self.world.parts.setdefault(tuple(ranks), World(len(ranks), spoil=self.world.spoil))
        return Ranked(part, self.rank - ranks[0], ranks[0]) if self.rank in ranks else None

    def get_global_rank(self, group: Ranked, rank: int) -> int:
        """Of a rank of a group."""
        return group.first + rank

    def _exchanged(self, mine: Any) -> list[Any]:
        """What every rank gave; all wait for all."""
        self.world.given[self.rank] = mine
        self.world.barrier.wait()
        found = list(self.world.given)
        self.world.barrier.wait()
        return found

    def _done(self, op: str, inputs: list[torch.Tensor], result: torch.Tensor | None) -> None:
        number = self.calls[op] = self.calls.get(op, 0) + 1
        if self.world.spoil is not None and result is not None:
            self.world.spoil(op, self.rank, number, inputs, result)

    def _refuse(self, op: str) -> None:
        if op in self.world.lacks:
            raise RuntimeError(self.world.lacks[op])

    def barrier(self) -> None:
        self._exchanged(None)

    @_by_group
    def all_reduce(self, tensor: torch.Tensor, op: str = "sum") -> None:
        every = self._exchanged(tensor.clone())
        stacked = torch.stack(every)
        tensor.copy_(stacked.max(dim=0).values if op == "max" else stacked.sum(dim=0).to(tensor.dtype))
        if op == "sum":
            self._done("all_reduce", every, tensor)

    @_by_group
    def reduce(self, tensor: torch.Tensor, root: int) -> None:
        every = self._exchanged(tensor.clone())
        if self.rank == root:
            tensor.copy_(torch.stack(every).sum(dim=0).to(tensor.dtype))
        self._done("reduce", every, tensor)

    @_by_group
    def broadcast(self, tensor: torch.Tensor, root: int) -> None:
        every = self._exchanged(tensor.clone())
        tensor.copy_(every[root])
        self._done("broadcast", every, tensor)

    @_by_group
    def all_gather_single(self, out: torch.Tensor, tensor: torch.Tensor) -> None:
        self._refuse("all_gather")
        every = self._exchanged(tensor.clone())
        out.copy_(torch.cat(every))
        self._done("all_gather", every, out)

    @_by_group
    def reduce_scatter_single(self, out: torch.Tensor, tensor: torch.Tensor) -> None:
        every = self._exchanged(tensor.clone())
        out.copy_(torch.stack(every).sum(dim=0).to(tensor.dtype).chunk(self.world.size)[self.rank])
        self._done("reduce_scatter", every, out)

    @_by_group
    def all_to_all_single(self, out: torch.Tensor, tensor: torch.Tensor) -> None:
        every = self._exchanged(tensor.clone())
        out.copy_(torch.cat([one.chunk(self.world.size)[self.rank] for one in every]))
        self._done("all_to_all", every, out)

    @_by_group
    def gather(self, tensor: torch.Tensor, parts: list[torch.Tensor] | None, root: int) -> None:
        every = self._exchanged(tensor.clone())
        for part, one in zip(parts or (), every, strict=bool(parts)):
            part.copy_(one)
        self._done("gather", every, None)

    @_by_group
    def scatter(self, tensor: torch.Tensor, parts: list[torch.Tensor] | None, root: int) -> None:
        every = self._exchanged([part.clone() for part in parts] if parts else None)
        tensor.copy_(every[root][self.rank])
        self._done("scatter", every[root], tensor)

    def P2POp(self, what: str, tensor: torch.Tensor, peer: int, group: Any = None) -> tuple[torch.Tensor, int, Any]:
        return tensor, peer, group

    def batch_isend_irecv(self, asks: list[tuple[torch.Tensor, int, Ranked | None]]) -> list[Any]:
        (mine, _, group), (out, source, _) = asks
        inside = group or self
        every = inside._exchanged(mine.clone())
        out.copy_(every[source - inside.first])
        inside._done("send_recv", every, out)
        return []


class Torch:
    """torch with another `distributed`."""

    def __init__(self, distributed: Ranked) -> None:
        self.distributed = distributed

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


def run(world: World, work: Callable[[Torch, int], None]) -> None:
    """Do the work on every rank, each in a thread; the first error is raised."""
    errors: list[BaseException] = []

    def one(rank: int) -> None:
        try:
            work(Torch(Ranked(world, rank)), rank)
        except BaseException as error:
            errors.append(error)
            world.barrier.abort()

    threads = [threading.Thread(target=one, args=(rank,), daemon=True) for rank in range(world.size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=PROCESS_S)
    if errors:
        raise next((error for error in errors if not isinstance(error, threading.BrokenBarrierError)), errors[0])
