"""What is kept of a gradient, so that two launches' gradients can be compared without keeping them?  A sketch.

A parameter of up to 251 elements is kept whole.  Of a larger one 251 sums are kept: element i goes with the sign s(i) into sum
i mod 251, where s is a fixed function of i alone, so that sums of any two launches, machines and devices belong together.
Sums are linear: equal gradients have equal sums, a gradient k times another has sums k times the other's, and the squared length
of a difference is that of the sums' difference within sqrt(2/251) = 9 % (one standard deviation).  Two different gradients with equal
sums would have to cancel in every one of them.

For trainers that keep gradients to themselves (fused, sharded or offloaded optimizers) the gradient can be had from outside:

    gradients.from_update(before, after, lr=1.0)     one step of plain SGD with this learning rate: (before - after) / lr
    gradients.from_adam(optimizer, model)            after Adam's first step exp_avg = (1 - beta1) gradient
    p.gradients(them)                                 told to the probe, in the first step

No random number is drawn and no gradient is changed.  torch is never imported here: the tensors bring it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from assay.instruments import _model

SUMS: Final = 251  # a prime, so that the columns of a matrix fall into different sums
_CHUNK: Final = {
    "cpu": SUMS * 64,
    "cuda": SUMS * 16384,
}  # elements at a time: what a processor's cache holds, what keeps a GPU busy
_MULTIPLIERS: Final = (0x9E3779B97F4A7C15 - 2**64, 0xBF58476D1CE4E5B9 - 2**64)  # of SplitMix64, as signed numbers
_HIGH: Final = 2**33 - 1


def sketch(gradient: Any) -> list[float]:
    """The elements of a gradient, or its 251 signed sums if there are more, in double precision."""
    torch = sys.modules["torch"]
    with torch.no_grad():
        flat = _flat(torch, gradient)
        if flat.numel() <= SUMS:
            return list(flat.double().tolist())
        sums = torch.zeros(SUMS, dtype=torch.float64, device=flat.device)
        size = _CHUNK[flat.device.type]
        for begin in range(0, flat.numel(), size):
            part = flat[begin : begin + size].double()
            part = part * _signs(torch, begin, part.numel(), flat.device)
            part = torch.nn.functional.pad(part, (0, -part.numel() % SUMS))
            sums += part.reshape(-1, SUMS).sum(dim=0)
        return list(sums.tolist())


def norm(gradient: Any) -> float:
    """Its Euclidean norm in double precision."""
    torch = sys.modules["torch"]
    with torch.no_grad():
        flat = _flat(torch, gradient)
        size = _CHUNK[flat.device.type]
        parts = (flat[begin : begin + size].double() for begin in range(0, flat.numel(), size))
        squares = sum(float((part * part).sum()) for part in parts)
    return float(squares**0.5)


def of_model(model: Any) -> Iterator[tuple[str, Any]]:
    """(name, gradient or None) of every parameter that is trained; none of a model of which this rank has a part."""
    if _model.is_sharded(model):
        return
    for name, parameter in _model.unwrap(model).named_parameters():
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
    names = {id(parameter): name for name, parameter in _model.unwrap(model).named_parameters()}
    found = {}
    for group in optimizer.param_groups:
        rest = 1.0 - float(group["betas"][0])
        for parameter in group["params"]:
            mean = optimizer.state.get(parameter, {}).get("exp_avg")
            if mean is not None and id(parameter) in names:
                found[names[id(parameter)]] = mean / rest
    return found


def rows(named: Iterable[tuple[str, Any]], precision: str | None) -> Iterator[tuple[Any, ...]]:
    """(parameter, size, precision, norm, sums) of each; without a gradient neither norm nor sums."""
    for name, gradient in named:
        if gradient is None:
            yield name, 0, precision or "", None, []
        else:
            own = precision or str(gradient.dtype).removeprefix("torch.")
            yield name, int(gradient.numel()), own, norm(gradient), sketch(gradient)


def _flat(torch: Any, gradient: Any) -> Any:
    plain = gradient.detach()
    if plain.layout is not torch.strided:
        plain = plain.to_dense()
    if plain.is_complex():
        plain = torch.view_as_real(plain)
    if plain.device.type not in ("cpu", "cuda"):  # others may have no double precision
        plain = plain.cpu()
    return plain.reshape(-1)


def _signs(torch: Any, begin: int, length: int, device: Any) -> Any:
    """The fixed signs of the elements from `begin` on: one bit of a mixed index."""
    mixed = torch.arange(begin + 1, begin + 1 + length, dtype=torch.int64, device=device) * _MULTIPLIERS[0]
    mixed = (mixed ^ ((mixed >> 31) & _HIGH)) * _MULTIPLIERS[1]
    return 1.0 - 2.0 * ((mixed >> 40) & 1).double()
