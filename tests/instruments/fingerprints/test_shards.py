"""A rank's part of a tensor: its sums and hashes add up to the whole's, however it was cut; what is no block is refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

pytestmark = pytest.mark.torch


class Shard:
    def __init__(self, dim: int) -> None:
        self.dim = dim


class Replicate:
    pass


class Partial:
    reduce_op = "sum"


class _StridedShard(Shard):
    pass


@dataclass
class Mesh:
    """Of torch's device mesh what is asked of it: no process group is needed to say which rank this is."""

    shape: tuple[int, ...]
    where: tuple[int, ...]

    def get_coordinate(self) -> tuple[int, ...]:
        return self.where


@dataclass
class Sharded:
    """A DTensor as one rank sees it."""

    whole: Any
    local: Any
    device_mesh: Mesh
    placements: tuple[Any, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.whole.shape)

    def detach(self) -> Sharded:
        return self

    def to_local(self) -> Any:
        return self.local


def cut(whole: Any, mesh: tuple[int, ...], placements: tuple[Any, ...], where: tuple[int, ...]) -> Sharded:
    """By torch's own chunk, one mesh dimension after the other; a rank beyond the chunks has nothing."""
    local = whole
    for size, own, placement in zip(mesh, where, placements, strict=True):
        if isinstance(placement, Shard):
            chunks = local.chunk(size, dim=placement.dim)
            local = chunks[own] if own < len(chunks) else local.narrow(placement.dim, 0, 0)
    return Sharded(whole, local, Mesh(mesh, where), placements)


def every(mesh: tuple[int, ...]) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = [()]
    for size in mesh:
        found = [(*one, own) for one in found for own in range(size)]
    return found


CUTS: dict[str, tuple[tuple[int, ...], tuple[int, ...], tuple[Any, ...]]] = {
    "rows": ((64, 48), (4,), (Shard(0),)),
    "rows that do not divide": ((7, 333), (3,), (Shard(0),)),
    "fewer rows than ranks": ((2, 500), (4,), (Shard(0),)),
    "columns": ((33, 65), (3,), (Shard(1),)),
    "rows and columns": ((30, 40), (2, 2), (Shard(0), Shard(1))),
    "rows twice": ((31, 40), (2, 2), (Shard(0), Shard(0))),
    "the middle of three": ((6, 20, 30), (4,), (Shard(1),)),
    "few": ((10, 3), (4,), (Shard(0),)),
    "few columns": ((10, 3), (2,), (Shard(1),)),
}


@pytest.mark.parametrize("name", CUTS)
def test_the_parts_of_a_tensor_add_up_to_the_whole(name: str) -> None:
    import torch

    from fireassay.instruments.fingerprints.gradient_sketch import norm, sketch, start_hash

    shape, mesh, placements = CUTS[name]
    whole = torch.randint(-999, 1000, shape, generator=torch.Generator().manual_seed(3)).double()  # sums are exact
    parts = [cut(whole, mesh, placements, where) for where in every(mesh)]
    sketches = [sketch(part) for part in parts]
    assert [sum(column) for column in zip(*sketches, strict=True)] == sketch(whole)
    assert sum(norm(part) ** 2 for part in parts) == pytest.approx(norm(whole) ** 2, rel=1e-12)
    assert (sum(map(start_hash, parts)) - start_hash(whole)) % 2**64 == 0


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "float64"])
def test_the_hash_of_the_start_sees_every_bit_and_every_place(kind: str) -> None:
    import torch

    from fireassay.instruments.fingerprints.gradient_sketch import start_hash

    plain = torch.randn(40, 30, generator=torch.Generator().manual_seed(0)).to(getattr(torch, kind))
    hashed = start_hash(plain)
    assert start_hash(plain.clone()) == hashed
    assert start_hash(plain.t()) != hashed
    nudged = plain.clone()
    nudged[3, 7] = torch.nextafter(nudged[3, 7], torch.tensor(9.0, dtype=nudged.dtype)) if kind != "bfloat16" else nudged[3, 7] * 1.01
    assert start_hash(nudged) != hashed
    swapped = plain.clone()
    swapped[0, 0], swapped[0, 1] = plain[0, 1], plain[0, 0]
    assert start_hash(swapped) != hashed


def test_holders_of_the_same_part_have_its_number() -> None:
    """Hybrid sharding: two groups of replicas, each cut in two."""
    import torch

    from fireassay.instruments.fingerprints.shards import share

    whole = torch.ones(8, 2)
    held = [share(cut(whole, (2, 2), (Replicate(), Shard(0)), where)) for where in every((2, 2))]
    assert [(one.part, one.parts) for one in held] == [(0, 2), (1, 2), (0, 2), (1, 2)]


def test_sums_that_are_not_reduced_yet_add_up() -> None:
    import torch

    from fireassay.instruments.fingerprints.gradient_sketch import sketch

    parts = [Sharded(torch.ones(3), torch.full((3,), float(rank)), Mesh((2,), (rank,)), (Partial(),)) for rank in (1, 0)]
    assert [sum(column) for column in zip(*map(sketch, parts), strict=True)] == [1.0, 1.0, 1.0]


def test_what_is_no_block_of_the_whole_is_refused() -> None:
    import torch

    from fireassay.instruments.fingerprints.shards import share

    whole = torch.ones(8)
    with pytest.raises(ValueError, match="not a block of the whole"):
        share(Sharded(whole, whole[:4], Mesh((2,), (0,)), (_StridedShard(0),)))
    with pytest.raises(ValueError, match=r"a rank's part has shape \(3,\); expected \(4,\) of \(8,\)"):
        share(Sharded(whole, whole[:3], Mesh((2,), (0,)), (Shard(0),)))
