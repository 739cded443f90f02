"""How many elements of a collective's result are wrong, and why?

Pure: (call, result) -> `Checked`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fireassay.instruments.collectives.corruption import named
from fireassay.instruments.collectives.data import RankCall, expected, right, whole

if TYPE_CHECKING:
    import torch


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
