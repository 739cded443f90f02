"""Where does a continuous function cross zero between two points?

Ridders' method (IEEE Transactions on Circuits and Systems 26, 1979): every step at least halves the bracket, and near a simple root
the number of exact digits doubles.  `scipy.optimize` offers the same; its import takes longer than judging a small record.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise


def root(function: Callable[[float], float], low: float, high: float, *, tolerance: float) -> float:
    """A root between `low` and `high`, within `tolerance`.

    Raises:
        ValueError: the function has the same sign at both ends.
    """
    f_low, f_high = function(low), function(high)
    if f_low == 0.0 or f_high == 0.0:
        return low if f_low == 0.0 else high
    if (f_low < 0.0) == (f_high < 0.0):
        raise ValueError(f"no change of sign between {low} and {high}: {f_low} and {f_high}")
    estimate = 0.5 * (low + high)
    while abs(high - low) > tolerance:
        middle = 0.5 * (low + high)
        if middle in (low, high):  # neighbouring numbers
            break
        f_middle = function(middle)
        estimate = _secant(low, middle, f_low, f_middle, f_high)
        points = [(low, f_low), (middle, f_middle), (high, f_high)]
        if estimate not in (low, middle, high):
            points = sorted([*points, (estimate, function(estimate))], key=lambda point: point[0], reverse=low > high)
        if (exact := next((x for x, y in points if y == 0.0), None)) is not None:
            return exact
        (low, f_low), (high, f_high) = next((left, right) for left, right in pairwise(points) if (left[1] < 0.0) != (right[1] < 0.0))
    return min(max(estimate, min(low, high)), max(low, high))


def _secant(low: float, middle: float, f_low: float, f_middle: float, f_high: float) -> float:
    """Ridders' estimate; the middle where it is not finite."""
    scale = max(abs(f_low), abs(f_middle), abs(f_high))
    a, b, c = f_low / scale, f_middle / scale, f_high / scale
    spread = math.sqrt(max(b * b - a * c, 0.0)) if math.isfinite(scale) else 0.0
    return middle + (middle - low) * math.copysign(1.0, a - c) * b / spread if spread > 0.0 else middle
