"""Which data does each rank send, and is a collective's result right?

Every rank sends integers derived from its rank, the element and the call, small enough that sums over all ranks are exact in the
element type. So a result is right or wrong to the last bit, and a wrong one can be explained: the numbers of a missing rank, another
shard, an earlier call or another operation can be regenerated and compared.

A rank's numbers repeat after `PERIOD` elements, a prime, so filling and comparing cost one pass over the memory; call number c starts
at an offset of 7919 c. `expected` is pure: (operation, ranks, rank, count, type, call) -> numbers.
Cannot tell: two blocks exchanged at a distance that is a multiple of `PERIOD` elements.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from fireassay.spec.sections.collectives import DTYPES

if TYPE_CHECKING:
    import torch

PERIOD: Final = 8191
STRIDE: Final = 7919  # both prime: 8191 consecutive calls have different offsets
SUMMED: Final = ("all_reduce", "reduce", "reduce_scatter")
SHARDED: Final = ("all_gather", "gather", "all_to_all")  # the result has one part per rank
MAX_RANKS_TRIED: Final = 256  # in the search for a missing rank
MAX_EARLIER: Final = 128  # earlier calls searched for a stale result
RANK_SALT, ELEMENT_SALT = 0x632BE59BD9B4E019, 0x9E3779B97F4A7C15


@dataclass(frozen=True, kw_only=True)
class RankCall:
    """A call as one rank sees it."""

    op: str
    ranks: int
    rank: int
    count: int  # elements per rank
    dtype: str
    call: int  # index of the call; seeds its numbers
    root: int = 0
    in_place: bool = False


# ---- the numbers -------------------------------------------------------------------------------------------------


def _signed(value: int) -> int:
    return value - 2**64 if value >= 2**63 else value


@functools.lru_cache(maxsize=512)
def numbers(rank: int, ranks: int, dtype: str) -> torch.Tensor:
    """A rank's numbers, from 1 to the largest whose sum over all ranks is exact; two periods long, so that any offset works."""
    import torch

    span = DTYPES[dtype][1] // ranks
    x = torch.arange(PERIOD, dtype=torch.int64) * _signed(ELEMENT_SALT) + _signed((rank + 1) * RANK_SALT % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # splitmix64 finaliser
        x = (x ^ ((x >> shift) & (2 ** (64 - shift) - 1))) * _signed(factor)
    x = x ^ ((x >> 31) & (2**33 - 1))
    period = (x.remainder(span) + 1).to(getattr(torch, dtype))
    return torch.cat([period, period])


@functools.lru_cache(maxsize=16)
def sums(ranks: int, dtype: str) -> torch.Tensor:
    """The sum over all ranks of their numbers."""
    import torch

    total = sum((numbers(rank, ranks, dtype).to(_wide(dtype)) for rank in range(1, ranks)), numbers(0, ranks, dtype).to(_wide(dtype)))
    return total.to(getattr(torch, dtype))


def _wide(dtype: str) -> torch.dtype:
    import torch

    return torch.float64 if dtype.startswith(("float", "bfloat")) else torch.int64


def poison(dtype: str) -> float:
    """The fill value of a result buffer; no right result contains it."""
    return 255 if dtype == "uint8" else -3


def fill(target: torch.Tensor, twice: torch.Tensor, begin: int) -> None:
    """Fill a one-dimensional tensor with the periodic numbers, from offset `begin`."""
    base = _from(twice, begin, target)
    rows = target.numel() // PERIOD
    if rows:
        target[: rows * PERIOD].view(rows, PERIOD).copy_(base)
    rest = target.numel() - rows * PERIOD
    if rest:
        target[rows * PERIOD :].copy_(base[:rest])


def _equal(target: torch.Tensor, periods: torch.Tensor, begin: int) -> bool:
    base = _from(periods, begin, target)
    rows = target.numel() // PERIOD
    whole = target[: rows * PERIOD].view(rows, PERIOD)
    rest = target[rows * PERIOD :]
    return bool((whole == base).all()) and bool((rest == base[: rest.numel()]).all())


def _from(periods: torch.Tensor, begin: int, target: torch.Tensor) -> torch.Tensor:
    start = begin % PERIOD
    return _on(periods, target.device)[start : start + PERIOD]


def _on(periods: torch.Tensor, device: Any) -> torch.Tensor:
    return periods if device.type == "cpu" else _moved(periods, str(device))


@functools.lru_cache(maxsize=512)
def _moved(periods: torch.Tensor, device: str) -> torch.Tensor:
    return periods.to(device)


# ---- inputs and expected results


def sent(spec: RankCall, target: torch.Tensor) -> None:
    """Write this rank's input."""
    fill(target, numbers(spec.rank, spec.ranks, spec.dtype), STRIDE * spec.call)


def expected(spec: RankCall) -> Iterator[tuple[int, torch.Tensor, int]]:
    """(elements, numbers, offset) of the right result, part by part; empty on a rank that receives nothing."""
    n, rank, count, begin = spec.ranks, spec.rank, spec.count, STRIDE * spec.call
    of = functools.partial(numbers, ranks=n, dtype=spec.dtype)
    if spec.op in ("reduce", "gather") and rank != spec.root:
        return
    if spec.op in ("all_gather", "gather"):
        yield from ((count, of(other), begin) for other in range(n))
    elif spec.op == "all_to_all":
        yield from ((count, of(other), begin + rank * count) for other in range(n))
    elif spec.op == "reduce_scatter":
        yield count, sums(n, spec.dtype), begin + rank * count
    elif spec.op in ("all_reduce", "reduce"):
        yield count, sums(n, spec.dtype), begin
    elif spec.op == "scatter":
        yield count, of(spec.root), begin + rank * count
    else:
        yield count, of(spec.root if spec.op == "broadcast" else (rank - 1) % n), begin


def right(spec: RankCall, result: torch.Tensor) -> bool:
    """True if the result is right; fast, since it runs on every timed call."""
    at = 0
    for size, periods, begin in expected(spec):
        part = result[at : at + size]
        if part.numel() != size or part.dtype != periods.dtype or not _equal(part, periods, begin):
            return False
        at += size
    return at in (0, result.numel())


def whole(parts: list[tuple[int, torch.Tensor, int]], device: Any = "cpu") -> torch.Tensor:
    """The right result as one tensor."""
    import torch

    tensors = []
    for size, periods, begin in parts:
        part = torch.empty(size, dtype=periods.dtype, device=device)
        fill(part, periods, begin)
        tensors.append(part)
    return torch.cat(tensors)
