"""Where does a function cross zero, and where is a sum of squared residuals smallest?

Both as `scipy.optimize` offers them; its import takes longer than judging a small record.

Zero of a continuous function between two points: Ridders' method (IEEE Transactions on Circuits and Systems 26, 1979): every step at least
halves the bracket, and near a simple root the number of exact digits doubles. Least squares: Levenberg and Marquardt's method with
Nielsen's rule for the damping (Madsen, Nielsen & Tingleff, "Methods for Non-Linear Least Squares Problems", 2004, algorithm 3.16), from
columns scaled to length 1.  For a few parameters and an exact Jacobian.  Cannot tell a local minimum from the smallest one: begin near it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray


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


Array = NDArray[np.float64]

MAX_STEPS: Final = 2000
MIN_STEP: Final = 1e-13  # relative to the parameters
FIRST_DAMPING: Final = 1e-3


def minimum(residuals: Callable[[Array], Array], jacobian: Callable[[Array], Array], start: Array) -> Array | None:
    """The parameters (shape [p]) of a minimum near `start`; None if the search does not converge or leaves the numbers.

    Args:
        residuals: of some parameters, shape [n].
        jacobian: their derivatives, shape [n, p].
        start: shape [p].
    """
    at, left = start, residuals(start)
    damping, growth = FIRST_DAMPING, 2.0
    for _ in range(MAX_STEPS):
        slopes = jacobian(at)
        if not (np.isfinite(left).all() and np.isfinite(slopes).all()):
            return None
        lengths = np.linalg.norm(slopes, axis=0)
        scaled = slopes / np.where(lengths > 0.0, lengths, 1.0)
        step = -np.linalg.solve(scaled.T @ scaled + damping * np.eye(len(at)), scaled.T @ left) / np.where(lengths > 0.0, lengths, 1.0)
        if np.all(np.abs(step) <= MIN_STEP * (np.abs(at) + MIN_STEP)):
            return at
        tried = residuals(at + step)
        expected = -(2.0 * left + slopes @ step) @ (slopes @ step)
        gain = float(left @ left - tried @ tried) / float(expected) if expected > 0.0 else -1.0
        if gain > 0.0:
            at, left, growth = at + step, tried, 2.0
            damping *= max(1.0 / 3.0, 1.0 - (2.0 * gain - 1.0) ** 3)
        else:
            damping, growth = damping * growth, growth * 2.0
    return None
