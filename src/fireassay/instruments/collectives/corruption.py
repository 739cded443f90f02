"""How many elements of a collective's result are wrong, what corrupted them, and where?

`check` is pure: (call, result) -> `Checked`.  The cause is sought only after a result was found wrong.

    stale          the old contents: the input, nothing written, or the result of an earlier call
    rank_missing   a sum without one rank's numbers, or a part of a gather that was not written
    bit_flip       one bit of one element
    shards_swapped parts of the result are exchanged
    wrong_root     another rank's data were broadcast or scattered
    wrong_op       maximum, minimum, product or mean instead of the sum
    wrong_dtype    rounded to, or added as, another element type
    off_by_one     shifted by one element, the last one left out, or each one off by 1
    partial        a run of elements is wrong, the others are right
    unknown        none of these

A cause is named only if the result equals, bit for bit, that corruption applied to the right data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from fireassay.instruments.collectives.data import (
    MAX_EARLIER,
    MAX_RANKS_TRIED,
    SHARDED,
    STRIDE,
    SUMMED,
    RankCall,
    expected,
    fill,
    numbers,
    poison,
    right,
    whole,
)
from fireassay.spec.sections.collectives import DTYPES

if TYPE_CHECKING:
    import torch


ROUNDED: Final = ("bfloat16", "float16", "float32")
CLOSE: Final = 1e-3  # for products, which are inexact


def named(spec: RankCall, result: torch.Tensor, reference: torch.Tensor) -> str:
    """Name the corruption and its location."""
    for look in LOOKS:
        if name := look(spec, result, reference):
            return name
    return _partial(spec, result, reference)


# ---- checks, most specific first


def _one_bit(_: RankCall, result: torch.Tensor, reference: torch.Tensor) -> str:
    positions = (result != reference).nonzero().reshape(-1)
    if len(positions) != 1:
        return ""
    position = int(positions[0])
    bits = _bits(result[position : position + 1]) ^ _bits(reference[position : position + 1])
    return f"bit_flip: bit {bits.bit_length() - 1} of element {position}" if bits.bit_count() == 1 else ""


def _bits(element: torch.Tensor) -> int:
    import torch

    return int.from_bytes(bytes(element.contiguous().view(torch.uint8).tolist()), "little")


def _not_written(spec: RankCall, result: torch.Tensor, reference: torch.Tensor) -> str:
    """The old contents remain: everywhere, in one rank's part, or in the last elements."""
    before = _before(spec, result)
    unwritten = (result != reference) & (result == before)
    if not bool(unwritten.any()) or bool(((result != reference) & ~unwritten).any()):
        return ""
    if bool((result == before).all()):
        return "stale: " + ("the input" if spec.in_place else "nothing was written")
    if spec.op in SHARDED:
        whole_parts = [bool((part == old).all()) for part, old in zip(_parts(spec, result), _parts(spec, before), strict=True)]
        wrong_parts = [bool(part.any()) for part in _parts(spec, result != reference)]
        if wrong_parts == [whole and wrong for whole, wrong in zip(whole_parts, wrong_parts, strict=True)]:
            return f"rank_missing: {_ranks(rank for rank, wrong in enumerate(wrong_parts) if wrong)}"
    last = int(unwritten.nonzero()[0])
    if last == result.numel() - 1:
        return "off_by_one: the last element was left out"
    return f"partial: {_run(unwritten)} were not written"


def _before(spec: RankCall, result: torch.Tensor) -> torch.Tensor:
    """The contents of the result buffer before the call."""
    import torch

    before = torch.full_like(result, poison(spec.dtype))
    if not spec.in_place:
        return before
    contribution = numbers(spec.rank, spec.ranks, spec.dtype)
    if spec.op == "all_gather":
        fill(_parts(spec, before)[spec.rank], contribution, STRIDE * spec.call)
    else:
        fill(before, contribution, STRIDE * spec.call + (spec.rank * spec.count if spec.op == "reduce_scatter" else 0))
    return before


def _earlier(spec: RankCall, result: torch.Tensor, _: torch.Tensor) -> str:
    for back in range(1, min(spec.call, MAX_EARLIER) + 1):
        if bool((result == _made(replace(spec, call=spec.call - back))).all()):
            return f"stale: the result of {back} {'call' if back == 1 else 'calls'} earlier"
    return ""


def _missing_rank(spec: RankCall, result: torch.Tensor, reference: torch.Tensor) -> str:
    if spec.op not in SUMMED:
        return ""
    for rank in range(min(spec.ranks, MAX_RANKS_TRIED)):
        contribution = _of_rank(spec, rank, result)
        if bool((result == reference - contribution).all()):
            return f"rank_missing: rank {rank}"
        if bool((result == reference + contribution).all()):
            return f"rank_twice: rank {rank}"
        if spec.ranks > 2 and bool((result == contribution).all()):
            return f"rank_missing: all but rank {rank}"
    return ""


def _other_operation(spec: RankCall, result: torch.Tensor, reference: torch.Tensor) -> str:
    import torch

    if spec.op not in SUMMED or spec.ranks > MAX_RANKS_TRIED:
        return ""
    contributions = torch.stack([_of_rank(spec, rank, result) for rank in range(spec.ranks)])
    largest, smallest = contributions.max(dim=0).values, contributions.min(dim=0).values
    if spec.ranks > 1 and bool((result == largest).all()):
        return "wrong_op: the maximum"
    if spec.ranks > 1 and bool((result == smallest).all()):
        return "wrong_op: the minimum"
    wide = reference.to(torch.float64)
    mean = (wide / spec.ranks).to(result.dtype)
    if bool((result == mean).all()) or bool((result == reference // spec.ranks).all()):
        return "wrong_op: the mean"
    if _is_product(result, contributions):
        return "wrong_op: the product"
    return ""


def _is_product(result: torch.Tensor, contributions: torch.Tensor) -> bool:
    """Compare within a tolerance: floating-point products are inexact. Integer products wrap around."""
    import torch

    product = contributions[0].clone()
    for contribution in contributions[1:]:
        product = product * contribution
    if not result.is_floating_point():
        return bool((result == product).all())
    finite = torch.isfinite(product.double()) & torch.isfinite(result.double())
    close = ((result.double() - product.double()).abs() <= max(CLOSE, 8 * torch.finfo(result.dtype).eps) * product.double().abs()) | ~finite
    return bool(close.all()) and bool((torch.isfinite(result.double()) == torch.isfinite(product.double())).all())


def _other_root(spec: RankCall, result: torch.Tensor, _: torch.Tensor) -> str:
    if spec.op not in ("broadcast", "scatter", "send_recv"):
        return ""
    for rank in range(min(spec.ranks, MAX_RANKS_TRIED)):
        begin = STRIDE * spec.call + (spec.rank * spec.count if spec.op == "scatter" else 0)
        other = result.clone()
        fill(other, numbers(rank, spec.ranks, spec.dtype), begin)
        if bool((result == other).all()):
            return f"wrong_root: the data of rank {rank}"
    return ""


def _other_shard(spec: RankCall, result: torch.Tensor, reference: torch.Tensor) -> str:
    if spec.op in ("reduce_scatter", "scatter", "all_to_all"):
        for rank in range(min(spec.ranks, MAX_RANKS_TRIED)):
            if rank != spec.rank and bool((result == _made(replace(spec, rank=rank))).all()):
                return f"shards_swapped: that of rank {rank} instead of that of rank {spec.rank}"
    if spec.ranks < 2:
        return ""
    parts, right = _parts(spec, result), _parts(spec, reference)
    wrong = [index for index, part in enumerate(parts) if not bool((part == right[index]).all())]
    if len(parts) > MAX_RANKS_TRIED:
        return ""
    from_where = {}
    for index in wrong:
        match = [other for other, part in enumerate(right) if len(part) == len(parts[index]) and bool((part == parts[index]).all())]
        if not match:
            return ""
        from_where[index] = match[0]
    return f"shards_swapped: {', '.join(f'that of {a} lies at {b}' for b, a in sorted(from_where.items()))}"


def _shifted(spec: RankCall, result: torch.Tensor, reference: torch.Tensor) -> str:
    pairs = list(zip(_parts(spec, result), _parts(spec, reference), strict=True)) if spec.op in SHARDED else [(result, reference)]
    wrong = [(part, right) for part, right in pairs if not bool((part == right).all())]
    if all(len(part) > 1 and bool((part[1:] == right[:-1]).all()) for part, right in wrong):
        return "off_by_one: one element too late"
    if all(len(part) > 1 and bool((part[:-1] == right[1:]).all()) for part, right in wrong):
        return "off_by_one: one element too early"
    if len(result) > 1 and (bool((result[1:] == reference[:-1]).all()) or bool((result[:-1] == reference[1:]).all())):
        return "off_by_one: by one element across all parts"
    wrong_elements = result != reference
    difference = (result.double() - reference.double())[wrong_elements]
    if bool((difference.abs() == 1).all()):
        return f"off_by_one: {len(difference)} elements by 1"
    return ""


def _other_type(spec: RankCall, result: torch.Tensor, reference: torch.Tensor) -> str:
    import torch

    for other in ROUNDED:
        if DTYPES[other][1] >= DTYPES[spec.dtype][1]:
            continue
        kind = getattr(torch, other)
        if bool((result == reference.to(kind).to(result.dtype)).all()):
            return f"wrong_dtype: rounded to {other}"
        if spec.op in SUMMED and spec.ranks <= MAX_RANKS_TRIED:
            total = sum((_of_rank(spec, rank, result).to(kind) for rank in range(1, spec.ranks)), _of_rank(spec, 0, result).to(kind))
            if bool((result == total.to(result.dtype)).all()):
                return f"wrong_dtype: added as {other}"
    if spec.op in SUMMED and spec.ranks <= MAX_RANKS_TRIED:
        return _added_as_others(spec, result)
    return ""


def _added_as_others(spec: RankCall, result: torch.Tensor) -> str:
    """One type's bytes, added as another type."""
    import torch

    width = result.element_size()
    for other in sorted(DTYPES, key=lambda name: DTYPES[name][0] != width):  # types of equal size first: without a carry they agree
        kind = getattr(torch, other)
        if other == spec.dtype or len(result) * result.element_size() % DTYPES[other][0]:
            continue
        total = _of_rank(spec, 0, result).view(kind)
        for rank in range(1, spec.ranks):
            total = total + _of_rank(spec, rank, result).view(kind)
        if bytes(total.view(torch.uint8).tolist()) == bytes(result.contiguous().view(torch.uint8).tolist()):
            return f"wrong_dtype: its bytes were added as {other}"
    return ""


def _partial(spec: RankCall, result: torch.Tensor, reference: torch.Tensor) -> str:
    wrong = result != reference
    if bool(wrong.all()):
        return "unknown"
    return f"partial: {_run(wrong)} are wrong"


Look = Callable[[RankCall, "torch.Tensor", "torch.Tensor"], str]
LOOKS: Final[tuple[Look, ...]] = (
    _not_written,
    _one_bit,
    _missing_rank,
    _other_operation,
    _earlier,
    _other_root,
    _other_shard,
    _other_type,
    _shifted,
)


# ---- helpers


def _made(spec: RankCall) -> torch.Tensor:
    return whole(list(expected(spec)))


def _of_rank(spec: RankCall, rank: int, like: torch.Tensor) -> torch.Tensor:
    """A rank's contribution to the sum that this rank receives."""
    contribution = like.clone()
    fill(
        contribution,
        numbers(rank, spec.ranks, spec.dtype),
        STRIDE * spec.call + (spec.rank * spec.count if spec.op == "reduce_scatter" else 0),
    )
    return contribution


def _parts(spec: RankCall, result: torch.Tensor) -> list[torch.Tensor]:
    """The result split by rank, or as a ring algorithm chunks it."""
    return list(result.tensor_split(spec.ranks))


def _ranks(ranks: Iterator[int]) -> str:
    names = [str(rank) for rank in ranks]
    return f"rank {names[0]}" if len(names) == 1 else f"ranks {', '.join(names)}"


def _run(mask: torch.Tensor) -> str:
    positions = mask.nonzero().reshape(-1)
    first, last = int(positions[0]), int(positions[-1])
    return f"{len(positions)} elements from {first} to {last}"


@dataclass(frozen=True, kw_only=True)
class Checked:
    """The number of wrong elements and the corruption, if identified; `wrong` None: this rank has no result."""

    wrong: int | None
    fault: str = ""


def check(spec: RankCall, result: torch.Tensor) -> Checked:
    """Count the wrong elements of a result and name the corruption."""
    parts = list(expected(spec))
    if not parts:
        return _elsewhere(spec, result)
    if right(spec, result):
        return Checked(wrong=0)
    reference = whole(parts, result.device)
    if result.dtype != reference.dtype or result.numel() != reference.numel():
        return Checked(wrong=reference.numel(), fault=f"wrong_dtype: {_type(result)} of {result.numel()} elements")
    flat = result.reshape(-1).cpu()
    return Checked(wrong=int((flat != reference.cpu()).sum()), fault=named(spec, flat, reference.cpu()))


def _elsewhere(spec: RankCall, result: torch.Tensor) -> Checked:
    """A rank that receives nothing: its buffer is undefined, but must not hold a sum that belongs to the root."""
    if spec.op == "reduce" and spec.ranks > 1 and right(replace(spec, rank=spec.root), result):
        return Checked(wrong=None, fault="sum_is_here")
    return Checked(wrong=None)


def _type(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
