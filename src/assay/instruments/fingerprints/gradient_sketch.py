"""What is kept of a gradient, so that two launches' gradients can be compared without keeping them?  A sketch.

A parameter of up to 251 elements is kept whole.  Of a larger one 251 sums are kept: element i goes with the sign s(i) into sum
i mod 251, where s is a fixed function of i alone, so that sums of any two launches, machines and devices belong together.
Sums are linear: equal gradients have equal sums, a gradient k times another has sums k times the other's, and the squared length
of a difference is that of the sums' difference within sqrt(2/251) = 9 % (one standard deviation).  Two different gradients with equal
sums would have to cancel in every one of them.
A rank that holds a part of a parameter (FSDP2) keeps the sums of its part, with the signs that its elements have in the whole: being
linear, the parts' sums add up to the whole's, and no rank has to ask another.

For trainers that keep gradients to themselves (fused, sharded or offloaded optimizers) the gradient can be had from outside:

    gradients.from_update(before, after, lr=1.0)     one step of plain SGD with this learning rate: (before - after) / lr
    gradients.from_adam(optimizer, model)            after Adam's first step exp_avg = (1 - beta1) gradient
    p.gradients(them)                                 told to the probe, in the first step

No random number is drawn and no gradient is changed.  torch is never imported here: the tensors bring it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from assay.instruments.fingerprints import model_hash
from assay.instruments.fingerprints.shards import Share, share

SUMS: Final = 251  # a prime, so that the columns of a matrix fall into different sums
_CHUNK: Final = {"cpu": SUMS * 64, "cuda": SUMS * 16384}  # elements at a time: what a processor's cache holds, what keeps a GPU busy
_MULTIPLIERS: Final = (0x9E3779B97F4A7C15 - 2**64, 0xBF58476D1CE4E5B9 - 2**64)  # of SplitMix64, as signed numbers
_HIGH: Final = 2**33 - 1


def sketch(gradient: Any) -> list[float]:
    """The elements of a gradient, or its 251 signed sums if there are more, in double precision; of a part those of the whole
    in which all other elements are 0."""
    torch = sys.modules["torch"]
    with torch.no_grad():
        own = _own(torch, gradient)
        flat = own.local.reshape(-1)
        if own.parts == 1 and own.whole <= SUMS:
            return list(flat.double().tolist())
        sums = torch.zeros(min(SUMS, own.whole), dtype=torch.float64, device=flat.device)
        for begin, part in _portions(flat):
            numbers = own.numbers(torch, begin, part.numel())
            signed = part.double()
            if own.whole > SUMS:
                signed = signed * _signs(numbers)
            if own.first is None or own.whole <= SUMS:
                sums.index_add_(0, (numbers - 1) % SUMS, signed)
                continue
            before = (own.first + begin) % SUMS
            signed = torch.nn.functional.pad(signed, (before, -(before + signed.numel()) % SUMS))
            sums += signed.reshape(-1, SUMS).sum(dim=0)
        return list(sums.tolist())


def norm(gradient: Any) -> float:
    """Its Euclidean norm in double precision; of a part that of the part."""
    torch = sys.modules["torch"]
    with torch.no_grad():
        flat = _own(torch, gradient).local.reshape(-1)
        doubles = (part.double() for _, part in _portions(flat))
        squares = sum(float((part * part).sum()) for part in doubles)
    return float(squares**0.5)


def start_hash(parameter: Any) -> int:
    """A hash of the numbers of the elements and their bits that is a sum over them (modulo 2^64): of the parts of a tensor it adds up to
    that of the whole, so that a sharded model can be seen to begin as one that is not."""
    torch = sys.modules["torch"]
    with torch.no_grad():
        own, total = _own(torch, parameter), 0
        bits = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
        flat = own.local.contiguous().reshape(-1)
        for begin, part in _portions(flat.view(bits[flat.element_size()])):
            mixed = own.numbers(torch, begin, part.numel()) * _MULTIPLIERS[0] + part.to(torch.int64)
            for _ in range(2):
                mixed = (mixed ^ ((mixed >> 31) & _HIGH)) * _MULTIPLIERS[1]
            total += int((mixed ^ ((mixed >> 31) & _HIGH)).sum())
    return (total + 2**63) % 2**64 - 2**63


def of_model(model: Any) -> Iterator[tuple[str, Any]]:
    """(name, gradient or None) of every parameter that is trained, or this rank's part of it; none of a model with flat parameters
    (FSDP1).
    """
    if model_hash.is_flat(model):
        return
    for name, parameter in model_hash.unwrap(model).named_parameters():
        if parameter.requires_grad:
            yield name, parameter.grad


def from_update(before: Mapping[str, Any], after: Mapping[str, Any], *, lr: float = 1.0) -> dict[str, Any]:
    """The gradients that one step of SGD without momentum and weight decay applied: name -> (before - after) / lr.

    Args:
        before: name -> a copy of the parameter before the step.
        after: name -> the parameter after it.
        lr: the learning rate of the step; a power of two loses nothing to rounding but what the update lost.
    """
    return {name: (value.detach() - after[name].detach()) / lr for name, value in before.items()}


def from_adam(optimizer: Any, model: Any) -> dict[str, Any]:
    """The gradients of the first step of Adam or AdamW: its running mean is then (1 - beta1) x gradient.

    Weight decay of plain Adam is a part of them; AdamW's is not.
    """
    names = {id(parameter): name for name, parameter in model_hash.unwrap(model).named_parameters()}
    found = {}
    for group in optimizer.param_groups:
        rest = 1.0 - float(group["betas"][0])
        for parameter in group["params"]:
            mean = optimizer.state.get(parameter, {}).get("exp_avg")
            if mean is not None and id(parameter) in names:
                found[names[id(parameter)]] = mean / rest
    return found


def starts(model: Any) -> dict[str, int]:
    """name -> `start_hash` of every parameter that is trained; of a part of it, where this rank has a part."""
    if model_hash.is_flat(model):
        return {}
    own = model_hash.unwrap(model).named_parameters()
    return {name: start_hash(parameter) for name, parameter in own if parameter.requires_grad}


def rows(
    named: Iterable[tuple[str, Any]], precision: str | None, starts: Mapping[str, int] = MappingProxyType({})
) -> Iterator[tuple[Any, ...]]:
    """(parameter, size, precision, norm, sums, part, parts, start) of each; without a gradient neither norm nor sums."""
    for name, gradient in named:
        start = starts.get(name)
        if gradient is None:
            yield name, 0, precision or "", None, [], 0, 1, start
        else:
            own = precision or str(gradient.dtype).removeprefix("torch.")
            held = share(gradient)
            size = int(held.local.numel())
            yield name, size, own, norm(gradient), sketch(gradient), held.part, held.parts, start


def _own(torch: Any, tensor: Any) -> Share:
    """What this rank holds of a tensor, as real numbers, where double precision exists."""
    held = share(tensor)
    plain = held.local
    if plain.layout is not torch.strided:
        plain = plain.to_dense()
    whole = held.whole
    if plain.is_complex():
        if held.parts > 1:
            raise ValueError("parts of complex tensors are not looked at")
        plain, whole = torch.view_as_real(plain), 2 * whole
    if plain.device.type not in ("cpu", "cuda"):  # others may have no double precision
        plain = plain.cpu()
    return replace(held, local=plain, whole=whole)


def _portions(flat: Any) -> Iterator[tuple[int, Any]]:
    """(number of its first element, portion) of a flat tensor."""
    size = _CHUNK[flat.device.type]
    for begin in range(0, flat.numel(), size):
        yield begin, flat[begin : begin + size]


def _signs(numbers: Any) -> Any:
    """The fixed signs of elements: one bit of their mixed numbers from 1."""
    mixed = numbers * _MULTIPLIERS[0]
    mixed = (mixed ^ ((mixed >> 31) & _HIGH)) * _MULTIPLIERS[1]
    return 1.0 - 2.0 * ((mixed >> 40) & 1).double()
