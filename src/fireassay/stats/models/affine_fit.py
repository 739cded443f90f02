"""What are the fixed part and the part per unit of a time that grows with size?

T(x) = a + b x, fitted by relative errors: sizes span eight decades and times five, so least squares on times would only see the
largest.  Residuals are ln T - ln(a + b x), which weighs a 10 % error equally everywhere; a and b stay positive because their
logarithms are fitted, by Gauss-Newton with step halving from a weighted linear fit (weights 1/T^2), in a few rounds.
Source of the model: Hockney, Parallel Computing 20 (1994) 389-398.
Cannot tell: whether the time is linear at all (check the residuals: `spread`), or at which size an engine switches protocol; fit
the ranges separately then.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fireassay.stats.intervals.intervals import Floats

ROUNDS: Final = 100
MIN_SIZES: Final = 3
TINY: Final = 1e-300

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Affine:
    """fixed: T at size 0; per_unit: time per unit of size; spread: root mean square of the log residuals."""

    fixed: float
    per_unit: float
    spread: float

    @property
    def half(self) -> float:
        """The size at which the fixed part is half of the time: fixed / per_unit."""
        return self.fixed / self.per_unit if self.per_unit > 0 else math.inf

    def at(self, size: float) -> float:
        """T at a size."""
        return self.fixed + self.per_unit * size


def affine_fit(sizes: Floats, times: Floats) -> Affine:
    """Fit T(x) = a + b x with a, b >= 0.

    Raises:
        ValueError: fewer than three different sizes, a time that is not above 0, or a number that is not finite.
    """
    x, t = np.asarray(sizes, dtype=np.float64), np.asarray(times, dtype=np.float64)
    _check(x, t)
    unit = float(x.max())
    logs = _descend(x / unit, t, _start(x / unit, t))
    fixed, slope = (float(value) for value in np.exp(logs))
    residuals = np.log(t) - np.log(fixed + slope * x / unit)
    return Affine(fixed=fixed, per_unit=slope / unit, spread=float(np.sqrt(np.mean(residuals**2))))


def _start(x: Array, t: Array) -> Array:
    """Logarithms of a weighted linear fit; a negative part starts at a thousandth of the least time."""
    design = np.column_stack([1.0 / t, x / t])
    coefficients, *_ = np.linalg.lstsq(design, np.ones_like(t), rcond=None)
    start: Array = np.log(np.maximum(coefficients, 1e-3 * float(t.min())))
    return start


def _descend(x: Array, t: Array, logs: Array) -> Array:
    log_times = np.log(t)
    error = _error(logs, x, log_times)
    for _ in range(ROUNDS):
        parts = np.exp(logs)
        total = parts[0] + parts[1] * x
        slope = np.column_stack([parts[0] / total, parts[1] * x / total])
        step, *_ = np.linalg.lstsq(slope, log_times - np.log(total), rcond=1e-12)
        step = np.clip(step, -2.0, 2.0)
        size = 1.0
        while size > 1e-9 and _error(logs + size * step, x, log_times) > error:
            size /= 2.0
        logs = logs + size * step
        now = _error(logs, x, log_times)
        if error - now <= 1e-15 * max(error, TINY):
            break
        error = now
    return logs


def _error(logs: Array, x: Array, log_times: Array) -> float:
    parts = np.exp(np.clip(logs, -690.0, 690.0))
    return float(np.sum((log_times - np.log(np.maximum(parts[0] + parts[1] * x, TINY))) ** 2))


def _check(x: Array, t: Array) -> None:
    if x.shape != t.shape or x.ndim != 1:
        raise ValueError(f"as many times as sizes are needed, not {t.shape} and {x.shape}")
    if not (np.all(np.isfinite(x)) and np.all(np.isfinite(t))):
        raise ValueError("sizes and times must be finite")
    if np.any(x < 0) or np.any(t <= 0):
        raise ValueError("sizes must be 0 or more and times above 0")
    if len(np.unique(x)) < MIN_SIZES:
        raise ValueError(f"a fixed part and a part per unit need at least {MIN_SIZES} sizes, not {len(np.unique(x))}")
