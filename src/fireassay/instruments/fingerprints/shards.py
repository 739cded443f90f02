"""Which elements of a whole tensor does this rank hold?

All of a plain one; its part of a sharded one (DTensor: FSDP2, tensor parallelism). Every element has its index in the whole tensor,
on any rank. A sum over elements (`gradient_sketch.sketch`, `gradient_sketch.start_hash`) can thus be computed per part and added up
later, without a collective.
Does not support: parts that are not a block of the whole (`_StridedShard`, where FSDP cuts along the dimension already cut by tensor
parallelism), and the flat parameters of FSDP1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Share:
    """This rank's elements, in their order, and their position in the whole."""

    local: Any  # a plain tensor
    whole: int  # number of elements in the whole
    part: int = 0  # ranks with the same number hold the same elements
    parts: int = 1  # number of parts in the whole
    first: int | None = 0  # index of the first element, if they are contiguous in the whole
    shape: tuple[int, ...] = ()  # of the block, if not contiguous
    offset: tuple[int, ...] = ()  # the block's first corner
    strides: tuple[int, ...] = ()  # of the whole

    def numbers(self, torch: Any, begin: int, length: int) -> Any:
        """The indices in the whole, from 1, of `length` of its elements from `begin` on."""
        device = self.local.device
        if self.first is not None:
            start = self.first + begin + 1
            return torch.arange(start, start + length, dtype=torch.int64, device=device)
        rest = torch.arange(begin, begin + length, dtype=torch.int64, device=device)
        number = torch.ones_like(rest)
        for size, corner, stride in zip(reversed(self.shape), reversed(self.offset), reversed(self.strides), strict=True):
            number += (rest % size + corner) * stride
            rest = rest // size
        return number


def share(tensor: Any) -> Share:
    """This rank's share of a tensor.

    Raises:
        ValueError: its part is not a block of the whole.
    """
    plain = tensor.detach()
    if not hasattr(plain, "to_local"):
        return Share(local=plain, whole=int(plain.numel()))
    return _of_block(plain, plain.to_local())


def _of_block(tensor: Any, local: Any) -> Share:
    mesh, where = tensor.device_mesh, tensor.device_mesh.get_coordinate()
    shape, offset, part, parts = list(tensor.shape), [0] * len(tensor.shape), 0, 1
    for size, coordinate, placement in zip(mesh.shape, where, tensor.placements, strict=True):
        kind = type(placement).__name__
        if kind == "Replicate":
            continue
        part, parts = part * size + coordinate, parts * size
        if kind == "Shard":
            begin, length = _chunk(shape[placement.dim], size, coordinate)
            offset[placement.dim] += begin
            shape[placement.dim] = length
        elif not (kind in ("Partial", "_Partial") and placement.reduce_op == "sum"):
            raise ValueError(f"a rank's part by {placement} is not a block of the whole")
    if tuple(local.shape) != tuple(shape):
        raise ValueError(f"a rank's part has shape {tuple(local.shape)}; expected {tuple(shape)} of {tuple(tensor.shape)}")
    strides = [math.prod(tensor.shape[dim + 1 :]) for dim in range(len(shape))]
    in_a_row = tuple(shape[1:]) == tuple(tensor.shape[1:])
    return Share(
        local=local,
        whole=math.prod(tensor.shape),
        part=part,
        parts=parts,
        first=(offset[0] * strides[0] if shape else 0) if in_a_row else None,
        shape=tuple(shape),
        offset=tuple(offset),
        strides=tuple(strides),
    )


def _chunk(length: int, parts: int, index: int) -> tuple[int, int]:
    """(begin, length) of one of the chunks of `torch.chunk`: equal lengths except the last ones."""
    longest = -(-length // parts)
    begin = min(index * longest, length)
    return begin, min(longest, length - begin)
