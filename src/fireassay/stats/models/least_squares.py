"""Where is a sum of squared residuals smallest?

Levenberg and Marquardt's method with Nielsen's rule for the damping (Madsen, Nielsen & Tingleff, "Methods for Non-Linear Least Squares
Problems", 2004, algorithm 3.16), from columns scaled to length 1.  For a few parameters and an exact Jacobian; `scipy.optimize` offers
the same, and its import takes longer than judging a small record.

Cannot tell a local minimum from the smallest one: begin near it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MOST_STEPS: Final = 2000
SMALLEST_STEP: Final = 1e-13  # relative to the parameters
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
    for _ in range(MOST_STEPS):
        slopes = jacobian(at)
        if not (np.isfinite(left).all() and np.isfinite(slopes).all()):
            return None
        lengths = np.linalg.norm(slopes, axis=0)
        scaled = slopes / np.where(lengths > 0.0, lengths, 1.0)
        step = -np.linalg.solve(scaled.T @ scaled + damping * np.eye(len(at)), scaled.T @ left) / np.where(lengths > 0.0, lengths, 1.0)
        if np.all(np.abs(step) <= SMALLEST_STEP * (np.abs(at) + SMALLEST_STEP)):
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
