"""How far is a gradient from the reference: by how much, by which factor, and is the remainder more than rounding?

For vectors g (found) and g* (reference), concatenated over parameters or of one parameter p:
    error     e = |g - g*| / max(|g*|, M / 10^6)            M: the largest |g*| of a parameter; |g - g*| / M if that is rounding
    scale     k = <g, g*> / <g*, g*>                          1 if the loss was averaged correctly
    turn      1 - cos = |g/|g| - g*/|g*||^2 / 2               0 if only the length is wrong
    rest      |g - k g*| / |k g*|                              not explained by a factor
Both may be sketches: signed sums of their elements (`fireassay.instruments.fingerprints.gradient_sketch`).  A sketch is linear, so
factors are exact; with n sums a squared length has relative standard deviation sqrt(2/n) (Charikar, Chen, Farach-Colton 2002).
Tolerances: at least 10 times the error measured when the same mathematics runs in another order (three-layer network):
float64 7e-16, float32 3.7e-7, bfloat16 4.8e-3.  Source of the idea: TTrace, arXiv 2506.09280.
Cannot tell: the cause if a gradient is neither right nor a multiple of the right one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class Tolerance:
    """Rounding limits of a precision."""

    error: float  # larger e exceeds rounding
    certain: float  # larger e exceeds the rounding of any network, however deep
    epsilon: float  # relative rounding of one number


TOLERANCES: Final[Mapping[str, Tolerance]] = {
    "float64": Tolerance(error=1e-12, certain=1e-9, epsilon=2.0**-52),
    "float32": Tolerance(error=2e-5, certain=1e-3, epsilon=2.0**-23),
    "tf32": Tolerance(error=5e-2, certain=math.inf, epsilon=2.0**-10),
    "float16": Tolerance(error=5e-2, certain=math.inf, epsilon=2.0**-10),
    "bfloat16": Tolerance(error=5e-2, certain=math.inf, epsilon=2.0**-7),
}
ROUNDINGS: Final = 32  # relative to the largest gradient of a parameter: smaller differences count as none
MIN_SHARE: Final = 1e-6  # of the largest gradient: floor of the denominator of a parameter's error


@dataclass(frozen=True, kw_only=True)
class Part:
    """One parameter's gradient on both sides, as sums of the same kind."""

    name: str
    found: Sequence[float]
    right: Sequence[float]
    right_norm: float  # of the whole gradient, not of its sums


@dataclass(frozen=True, kw_only=True)
class Difference:
    """How one gradient differs from another."""

    error: float  # the largest of all parameters
    worst: str  # its parameter
    errors: Mapping[str, float]  # parameter -> e
    scale: float  # over all parameters; NaN if the reference is zero
    turn: float
    rest: float


def compare(parts: Sequence[Part], precision: str) -> Difference:
    """The difference over all parameters.

    Raises:
        ValueError: no parameter, or the sides of one have different numbers of sums.
    """
    if not parts:
        raise ValueError("no parameter's gradient is given; give at least one")
    known = tolerance(precision)
    largest, rounding = max(part.right_norm for part in parts), min(ROUNDINGS * known.epsilon, known.error)
    errors = {part.name: _error(part, largest, rounding) for part in parts}
    worst = max(errors, key=lambda name: errors[name])
    actual = np.concatenate([np.asarray(part.found, dtype=np.float64) for part in parts])
    right = np.concatenate([np.asarray(part.right, dtype=np.float64) for part in parts])
    scale, turn, rest = direction(actual, right)
    return Difference(error=errors[worst], worst=worst, errors=errors, scale=scale, turn=turn, rest=rest)


def tolerance(precision: str) -> Tolerance:
    """Rounding limits of this precision; an unknown one gets the coarsest."""
    return TOLERANCES.get(precision, TOLERANCES["bfloat16"])


def ratio_name(scale: float, candidates: Mapping[str, float], within: float) -> str | None:
    """The name of the nearest candidate factor within this relative distance of `scale`, or None."""
    near = {name: abs(scale / factor - 1.0) for name, factor in candidates.items() if factor != 1.0}
    best = min(near, key=lambda name: near[name], default=None)
    return best if best is not None and near[best] <= within else None


def _error(part: Part, largest: float, rounding: float) -> float:
    actual, right = np.asarray(part.found, dtype=np.float64), np.asarray(part.right, dtype=np.float64)
    if actual.shape != right.shape:
        raise ValueError(f"{part.name} has {actual.size} sums on one side and {right.size} on the other")
    apart = float(np.linalg.norm(actual - right))
    if not math.isfinite(apart):
        return math.inf
    if apart <= rounding * largest:  # a gradient that should be zero is pure rounding
        return apart / largest if largest else 0.0
    return apart / max(part.right_norm, MIN_SHARE * largest) if largest else math.inf


def direction(actual: NDArray[np.float64], right: NDArray[np.float64]) -> tuple[float, float, float]:
    """(scale, turn, rest) of a vector against the reference."""
    square, actual_square = float(right @ right), float(actual @ actual)
    if square == 0.0 or not math.isfinite(square) or not math.isfinite(actual_square):
        return math.nan, math.nan, math.nan
    scale = float(actual @ right) / square
    if actual_square == 0.0 or scale == 0.0:
        return scale, 1.0, math.inf
    apart = actual / math.sqrt(actual_square) - right / math.sqrt(square)
    rest = float(np.linalg.norm(actual - scale * right)) / (abs(scale) * math.sqrt(square))
    return scale, float(apart @ apart) / 2.0, rest
