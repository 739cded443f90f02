"""How do we compare two launches' gradients without storing them?

By a sketch. A parameter of up to 251 elements is kept whole. Of a larger one 251 sums are kept: element i is added with the sign s(i)
to sum i mod 251, where s is a fixed function of i alone, so that sums are comparable across launches, machines and devices.
Sums are linear: equal gradients have equal sums, a gradient scaled by k has sums scaled by k, and the squared norm of a difference is
that of the sums' difference within sqrt(2/251) = 9 % (one standard deviation). Two different gradients with equal sums would have to
cancel in every one of them.
A rank that holds a part of a parameter (FSDP2) keeps the sums of its part, with the signs of its elements in the whole: by linearity
the parts' sums add up to the whole's, without communication.

For trainers that keep gradients to themselves (fused, sharded or offloaded optimizers) the gradient can be derived:

    gradients.from_update(before, after, lr=1.0)     one step of plain SGD with this learning rate: (before - after) / lr
    gradients.from_adam(optimizer, model)            after Adam's first step exp_avg = (1 - beta1) gradient
    p.gradients(them)                                 reports them to the probe, in the first step

No random number is drawn and no gradient is changed. torch is never imported here: the tensors bring it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from fireassay.instruments.fingerprints import model_hash
from fireassay.instruments.fingerprints.shards import Share, share

SUMS: Final = 251  # a prime, so that the columns of a matrix fall into different sums
_CHUNK: Final = {"cpu": SUMS * 64, "cuda": SUMS * 16384}  # elements per chunk: what fits a CPU's cache, what keeps a GPU busy
_MULTIPLIERS: Final = (0x9E3779B97F4A7C15 - 2**64, 0xBF58476D1CE4E5B9 - 2**64)  # SplitMix64's, as signed integers
_HIGH: Final = 2**33 - 1


def sketch(gradient: Any) -> list[float]:
    """The elements of a gradient, or its 251 signed sums if it has more, in double precision.

    For a part: those of the whole with all other elements 0.
    """
    torch = sys.modules["torch"]
    with torch.no_grad():
        shard = _own(torch, gradient)
        flat = shard.local.reshape(-1)
        if shard.parts == 1 and shard.whole <= SUMS:
            return list(flat.double().tolist())
        sums = torch.zeros(min(SUMS, shard.whole), dtype=torch.float64, device=flat.device)
        for begin, part in _portions(flat):
            numbers = shard.numbers(torch, begin, part.numel())
            signed = part.double()
            if shard.whole > SUMS:
                signed = signed * _signs(numbers)
            if shard.first is None or shard.whole <= SUMS:
                sums.index_add_(0, (numbers - 1) % SUMS, signed)
                continue
            before = (shard.first + begin) % SUMS
            signed = torch.nn.functional.pad(signed, (before, -(before + signed.numel()) % SUMS))
            sums += signed.reshape(-1, SUMS).sum(dim=0)
        return list(sums.tolist())


def norm(gradient: Any) -> float:
    """The Euclidean norm in double precision; of a part, the part's."""
    torch = sys.modules["torch"]
    with torch.no_grad():
        flat = _own(torch, gradient).local.reshape(-1)
        doubles = (part.double() for _, part in _portions(flat))
        squares = sum(float((part * part).sum()) for part in doubles)
    return float(squares**0.5)


def start_hash(parameter: Any) -> int:
    """A hash of element indices and bits that is a sum over elements (modulo 2^64).

    The parts of a tensor add up to the whole, so a sharded model can be shown to start equal to an unsharded one.
    """
    torch = sys.modules["torch"]
    with torch.no_grad():
        shard, total = _own(torch, parameter), 0
        bits = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
        flat = shard.local.contiguous().reshape(-1)
        for begin, part in _portions(flat.view(bits[flat.element_size()])):
            mixed = shard.numbers(torch, begin, part.numel()) * _MULTIPLIERS[0] + part.to(torch.int64)
            for _ in range(2):
                mixed = (mixed ^ ((mixed >> 31) & _HIGH)) * _MULTIPLIERS[1]
            total += int((mixed ^ ((mixed >> 31) & _HIGH)).sum())
    return (total + 2**63) % 2**64 - 2**63


def of_model(model: Any) -> Iterator[tuple[str, Any]]:
    """(name, gradient or None) of every trained parameter, or of this rank's part; nothing for flat parameters (FSDP1)."""
    if model_hash.is_flat(model):
        return
    for name, parameter in model_hash.unwrap(model).named_parameters():
        if parameter.requires_grad:
            yield name, parameter.grad


def from_update(before: Mapping[str, Any], after: Mapping[str, Any], *, lr: float = 1.0) -> dict[str, Any]:
    """The gradients applied by one step of SGD without momentum and weight decay: name -> (before - after) / lr.

    Args:
        before: name -> a copy of the parameter before the step.
        after: name -> the parameter after it.
        lr: the learning rate of the step; with a power of two the division is exact.
    """
    return {name: (value.detach() - after[name].detach()) / lr for name, value in before.items()}


def from_adam(optimizer: Any, model: Any) -> dict[str, Any]:
    """The gradients of the first step of Adam or AdamW: exp_avg is then (1 - beta1) x gradient.

    They include the weight decay of plain Adam, but not AdamW's.
    """
    names = {id(parameter): name for name, parameter in model_hash.unwrap(model).named_parameters()}
    gradients = {}
    for group in optimizer.param_groups:
        rest = 1.0 - float(group["betas"][0])
        for parameter in group["params"]:
            mean = optimizer.state.get(parameter, {}).get("exp_avg")
            if mean is not None and id(parameter) in names:
                gradients[names[id(parameter)]] = mean / rest
    return gradients


def starts(model: Any) -> dict[str, int]:
    """name -> `start_hash` of every trained parameter, or of this rank's part."""
    if model_hash.is_flat(model):
        return {}
    named = model_hash.unwrap(model).named_parameters()
    return {name: start_hash(parameter) for name, parameter in named if parameter.requires_grad}


def rows(
    named: Iterable[tuple[str, Any]], precision: str | None, starts: Mapping[str, int] = MappingProxyType({})
) -> Iterator[tuple[Any, ...]]:
    """(parameter, size, precision, norm, sums, part, parts, start) of each; without a gradient, norm and sums are None."""
    for name, gradient in named:
        start = starts.get(name)
        if gradient is None:
            yield name, 0, precision or "", None, [], 0, 1, start
        else:
            dtype = precision or str(gradient.dtype).removeprefix("torch.")
            shard = share(gradient)
            size = int(shard.local.numel())
            yield name, size, dtype, norm(gradient), sketch(gradient), shard.part, shard.parts, start


def _own(torch: Any, tensor: Any) -> Share:
    """This rank's share of a tensor, as real numbers in double precision where available."""
    shard = share(tensor)
    plain = shard.local
    if plain.layout is not torch.strided:
        plain = plain.to_dense()
    whole = shard.whole
    if plain.is_complex():
        if shard.parts > 1:
            raise ValueError("parts of complex tensors are not supported")
        plain, whole = torch.view_as_real(plain), 2 * whole
    if plain.device.type not in ("cpu", "cuda"):  # others may lack double precision
        plain = plain.cpu()
    return replace(shard, local=plain, whole=whole)


def _portions(flat: Any) -> Iterator[tuple[int, Any]]:
    """(index of its first element, chunk) of a flat tensor."""
    size = _CHUNK[flat.device.type]
    for begin in range(0, flat.numel(), size):
        yield begin, flat[begin : begin + size]


def _signs(numbers: Any) -> Any:
    """The fixed signs of elements: one bit of their hashed indices, from 1."""
    mixed = numbers * _MULTIPLIERS[0]
    mixed = (mixed ^ ((mixed >> 31) & _HIGH)) * _MULTIPLIERS[1]
    return 1.0 - 2.0 * ((mixed >> 40) & 1).double()
