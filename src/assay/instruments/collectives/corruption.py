"""What corrupted a wrong result, and where?

Runs only after a result was found wrong.

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

A name is given only if the result equals, bit for bit, that corruption applied to the right data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from assay.instruments.collectives.data import (
    MOST_EARLIER,
    MOST_RANKS_TRIED,
    SHARDED,
    STRIDE,
    SUMMED,
    Asked,
    expected,
    fill,
    numbers,
    poison,
    whole,
)
from assay.spec.sections.collectives import DTYPES

if TYPE_CHECKING:
    import torch

ROUNDED: Final = ("bfloat16", "float16", "float32")
CLOSE: Final = 1e-3  # for products, which are inexact


def named(asked: Asked, found: torch.Tensor, wanted: torch.Tensor) -> str:
    """Name the corruption and its location."""
    for look in LOOKS:
        if name := look(asked, found, wanted):
            return name
    return _partial(asked, found, wanted)


# ---- checks, most specific first


def _one_bit(_: Asked, found: torch.Tensor, wanted: torch.Tensor) -> str:
    places = (found != wanted).nonzero().reshape(-1)
    if len(places) != 1:
        return ""
    place = int(places[0])
    bits = _bits(found[place : place + 1]) ^ _bits(wanted[place : place + 1])
    return f"bit_flip: bit {bits.bit_length() - 1} of element {place}" if bits.bit_count() == 1 else ""


def _bits(one: torch.Tensor) -> int:
    import torch

    return int.from_bytes(bytes(one.contiguous().view(torch.uint8).tolist()), "little")


def _not_written(asked: Asked, found: torch.Tensor, wanted: torch.Tensor) -> str:
    """The old contents remain: everywhere, in one rank's part, or in the last elements."""
    before = _before(asked, found)
    unwritten = (found != wanted) & (found == before)
    if not bool(unwritten.any()) or bool(((found != wanted) & ~unwritten).any()):
        return ""
    if bool((found == before).all()):
        return "stale: " + ("the input" if asked.in_place else "nothing was written")
    if asked.op in SHARDED:
        whole_parts = [bool((part == old).all()) for part, old in zip(_parts(asked, found), _parts(asked, before), strict=True)]
        wrong_parts = [bool(part.any()) for part in _parts(asked, found != wanted)]
        if wrong_parts == [whole and wrong for whole, wrong in zip(whole_parts, wrong_parts, strict=True)]:
            return f"rank_missing: {_ranks(rank for rank, wrong in enumerate(wrong_parts) if wrong)}"
    last = int(unwritten.nonzero()[0])
    if last == found.numel() - 1:
        return "off_by_one: the last element was left out"
    return f"partial: {_run(unwritten)} were not written"


def _before(asked: Asked, found: torch.Tensor) -> torch.Tensor:
    """The contents of the result buffer before the call."""
    import torch

    before = torch.full_like(found, poison(asked.dtype))
    if not asked.in_place:
        return before
    own = numbers(asked.rank, asked.ranks, asked.dtype)
    if asked.op == "all_gather":
        fill(_parts(asked, before)[asked.rank], own, STRIDE * asked.call)
    else:
        fill(before, own, STRIDE * asked.call + (asked.rank * asked.count if asked.op == "reduce_scatter" else 0))
    return before


def _earlier(asked: Asked, found: torch.Tensor, _: torch.Tensor) -> str:
    for back in range(1, min(asked.call, MOST_EARLIER) + 1):
        if bool((found == _made(replace(asked, call=asked.call - back))).all()):
            return f"stale: the result of {back} {'call' if back == 1 else 'calls'} earlier"
    return ""


def _missing_rank(asked: Asked, found: torch.Tensor, wanted: torch.Tensor) -> str:
    if asked.op not in SUMMED:
        return ""
    for rank in range(min(asked.ranks, MOST_RANKS_TRIED)):
        own = _of_rank(asked, rank, found)
        if bool((found == wanted - own).all()):
            return f"rank_missing: rank {rank}"
        if bool((found == wanted + own).all()):
            return f"rank_twice: rank {rank}"
        if asked.ranks > 2 and bool((found == own).all()):
            return f"rank_missing: all but rank {rank}"
    return ""


def _other_operation(asked: Asked, found: torch.Tensor, wanted: torch.Tensor) -> str:
    import torch

    if asked.op not in SUMMED or asked.ranks > MOST_RANKS_TRIED:
        return ""
    every = torch.stack([_of_rank(asked, rank, found) for rank in range(asked.ranks)])
    largest, smallest = every.max(dim=0).values, every.min(dim=0).values
    if asked.ranks > 1 and bool((found == largest).all()):
        return "wrong_op: the maximum"
    if asked.ranks > 1 and bool((found == smallest).all()):
        return "wrong_op: the minimum"
    wide = wanted.to(torch.float64)
    mean = (wide / asked.ranks).to(found.dtype)
    if bool((found == mean).all()) or bool((found == wanted // asked.ranks).all()):
        return "wrong_op: the mean"
    if _is_product(found, every):
        return "wrong_op: the product"
    return ""


def _is_product(found: torch.Tensor, every: torch.Tensor) -> bool:
    """Compare within a tolerance: floating-point products are inexact. Integer products wrap around."""
    import torch

    product = every[0].clone()
    for own in every[1:]:
        product = product * own
    if not found.is_floating_point():
        return bool((found == product).all())
    finite = torch.isfinite(product.double()) & torch.isfinite(found.double())
    near = ((found.double() - product.double()).abs() <= max(CLOSE, 8 * torch.finfo(found.dtype).eps) * product.double().abs()) | ~finite
    return bool(near.all()) and bool((torch.isfinite(found.double()) == torch.isfinite(product.double())).all())


def _other_root(asked: Asked, found: torch.Tensor, _: torch.Tensor) -> str:
    if asked.op not in ("broadcast", "scatter", "send_recv"):
        return ""
    for rank in range(min(asked.ranks, MOST_RANKS_TRIED)):
        begin = STRIDE * asked.call + (asked.rank * asked.count if asked.op == "scatter" else 0)
        other = found.clone()
        fill(other, numbers(rank, asked.ranks, asked.dtype), begin)
        if bool((found == other).all()):
            return f"wrong_root: the data of rank {rank}"
    return ""


def _other_shard(asked: Asked, found: torch.Tensor, wanted: torch.Tensor) -> str:
    if asked.op in ("reduce_scatter", "scatter", "all_to_all"):
        for rank in range(min(asked.ranks, MOST_RANKS_TRIED)):
            if rank != asked.rank and bool((found == _made(replace(asked, rank=rank))).all()):
                return f"shards_swapped: that of rank {rank} in place of that of rank {asked.rank}"
    if asked.ranks < 2:
        return ""
    parts, right = _parts(asked, found), _parts(asked, wanted)
    wrong = [place for place, part in enumerate(parts) if not bool((part == right[place]).all())]
    if len(parts) > MOST_RANKS_TRIED:
        return ""
    from_where = {}
    for place in wrong:
        match = [other for other, part in enumerate(right) if len(part) == len(parts[place]) and bool((part == parts[place]).all())]
        if not match:
            return ""
        from_where[place] = match[0]
    return f"shards_swapped: {', '.join(f'that of {a} lies at {b}' for b, a in sorted(from_where.items()))}"


def _shifted(asked: Asked, found: torch.Tensor, wanted: torch.Tensor) -> str:
    pairs = list(zip(_parts(asked, found), _parts(asked, wanted), strict=True)) if asked.op in SHARDED else [(found, wanted)]
    wrong = [(part, right) for part, right in pairs if not bool((part == right).all())]
    if all(len(part) > 1 and bool((part[1:] == right[:-1]).all()) for part, right in wrong):
        return "off_by_one: one element too late"
    if all(len(part) > 1 and bool((part[:-1] == right[1:]).all()) for part, right in wrong):
        return "off_by_one: one element too early"
    if len(found) > 1 and (bool((found[1:] == wanted[:-1]).all()) or bool((found[:-1] == wanted[1:]).all())):
        return "off_by_one: by one element over all parts"
    off = found != wanted
    difference = (found.double() - wanted.double())[off]
    if bool((difference.abs() == 1).all()):
        return f"off_by_one: {len(difference)} elements by 1"
    return ""


def _other_type(asked: Asked, found: torch.Tensor, wanted: torch.Tensor) -> str:
    import torch

    for other in ROUNDED:
        if DTYPES[other][1] >= DTYPES[asked.dtype][1]:
            continue
        kind = getattr(torch, other)
        if bool((found == wanted.to(kind).to(found.dtype)).all()):
            return f"wrong_dtype: rounded to {other}"
        if asked.op in SUMMED and asked.ranks <= MOST_RANKS_TRIED:
            total = sum((_of_rank(asked, rank, found).to(kind) for rank in range(1, asked.ranks)), _of_rank(asked, 0, found).to(kind))
            if bool((found == total.to(found.dtype)).all()):
                return f"wrong_dtype: added as {other}"
    if asked.op in SUMMED and asked.ranks <= MOST_RANKS_TRIED:
        return _added_as_others(asked, found)
    return ""


def _added_as_others(asked: Asked, found: torch.Tensor) -> str:
    """One type's bytes, added as another type."""
    import torch

    own = found.element_size()
    for other in sorted(DTYPES, key=lambda name: DTYPES[name][0] != own):  # types of equal size first: without a carry they agree
        kind = getattr(torch, other)
        if other == asked.dtype or len(found) * found.element_size() % DTYPES[other][0]:
            continue
        total = _of_rank(asked, 0, found).view(kind)
        for rank in range(1, asked.ranks):
            total = total + _of_rank(asked, rank, found).view(kind)
        if bytes(total.view(torch.uint8).tolist()) == bytes(found.contiguous().view(torch.uint8).tolist()):
            return f"wrong_dtype: its bytes were added as {other}"
    return ""


def _partial(asked: Asked, found: torch.Tensor, wanted: torch.Tensor) -> str:
    wrong = found != wanted
    if bool(wrong.all()):
        return "unknown"
    return f"partial: {_run(wrong)} are wrong"


Look = Callable[[Asked, "torch.Tensor", "torch.Tensor"], str]
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


def _made(asked: Asked) -> torch.Tensor:
    return whole(list(expected(asked)))


def _of_rank(asked: Asked, rank: int, like: torch.Tensor) -> torch.Tensor:
    """A rank's contribution to the sum that this rank receives."""
    own = like.clone()
    fill(
        own,
        numbers(rank, asked.ranks, asked.dtype),
        STRIDE * asked.call + (asked.rank * asked.count if asked.op == "reduce_scatter" else 0),
    )
    return own


def _parts(asked: Asked, result: torch.Tensor) -> list[torch.Tensor]:
    """The result split by rank, or as a ring algorithm chunks it."""
    return list(result.tensor_split(asked.ranks))


def _ranks(several: Iterator[int]) -> str:
    found = [str(rank) for rank in several]
    return f"rank {found[0]}" if len(found) == 1 else f"ranks {', '.join(found)}"


def _run(mask: torch.Tensor) -> str:
    places = mask.nonzero().reshape(-1)
    first, last = int(places[0]), int(places[-1])
    return f"{len(places)} elements from {first} to {last}"
