"""Could these values come from a normal distribution?

Shapiro and Wilk's W with Royston's approximations (Applied Statistics 44, 1995, algorithm R94), for 3 to 5000 values.  Same result
as `scipy.stats.shapiro`, without its import, which takes half a second.

Where does the variation arise, and how many repetitions at each level cost least?

Levels 1 (innermost, such as a step) to L (outermost, such as a launch), balanced: each unit has equally many units of the level
below.  S_i^2 is the variance of the means of level i, averaged over the units of level i + 1 (S_L^2 is that of the top means):

    T_1^2 = S_1^2,  T_i^2 = S_i^2 - S_(i-1)^2 / r_(i-1)     variance added by level i; negative counts as 0
    mean -+ t[r_L - 1] sqrt(S_L^2 / r_L)                    only the top level gives degrees of freedom
    r_i = ceil(sqrt((c_(i+1)/c_i) (T_i^2/T_(i+1)^2)))       cheapest repetitions, c_i seconds for one more unit of level i

Source: Kalibera & Jones, "Rigorous benchmarking in reasonable time", ISMM'13, with T_(i-1)^2 in its second line corrected to
S_(i-1)^2 as in their libkalibera.  Assumes that warm-up is removed (a trend would count as level-1 variation).
Cannot tell: variation of a level that was not repeated (one machine, one day).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

MIN_VALUES: Final = 3
# Royston's polynomials, lowest power first
_FIRST: Final = (0.0, 0.221157, -0.147981, -2.07119, 4.434685, -2.706056)
_SECOND: Final = (0.0, 0.042981, -0.293762, -1.752461, 5.682633, -3.582633)
_SMALL_BOUND: Final = (-2.273, 0.459)
_SMALL_MEAN: Final = (0.544, -0.39978, 0.025054, -6.714e-4)
_SMALL_SPREAD: Final = (1.3822, -0.77857, 0.062767, -0.0020322)
_LARGE_MEAN: Final = (-1.5861, -0.31082, -0.083751, 0.0038915)
_LARGE_SPREAD: Final = (-0.4803, -0.082676, 0.0030302)
_SMALL: Final = 11  # most values for the small-sample polynomials


def shapiro(values: Sequence[float] | Floats) -> tuple[float, float]:
    """W and its p-value, for at least 3 values that are not all equal.

    Raises:
        ValueError: fewer values, or all equal.
    """
    import numpy as np

    ordered = np.sort(np.asarray(values, dtype=np.float64))
    n = len(ordered)
    if n < MIN_VALUES or ordered[0] == ordered[-1]:
        raise ValueError(f"Shapiro's test needs {MIN_VALUES} values that are not all equal")
    weights = _weights(n)
    spread = float(((ordered - ordered.mean()) ** 2).sum())
    half = len(weights)
    w = min(1.0, float((weights * (ordered[::-1][:half] - ordered[:half])).sum()) ** 2 / spread)
    return w, _p_value(w, n)


def skewness(values: Sequence[float] | Floats) -> float:
    """Third standardised moment, bias-corrected from 4 values on (`scipy.stats.skew`)."""
    import numpy as np

    away = np.asarray(values, dtype=np.float64)
    away = away - away.mean()
    n, second = len(away), float((away**2).mean())
    if second == 0.0:
        return 0.0
    plain = float((away**3).mean()) / second**1.5
    return plain if n < 4 else float(plain * math.sqrt(n * (n - 1)) / (n - 2))


def _weights(n: int) -> Floats:
    """Weights of the differences between i-th largest and i-th smallest."""
    import numpy as np
    from scipy.special import ndtri

    if n == MIN_VALUES:
        return np.array([math.sqrt(0.5)])
    expected = -ndtri((np.arange(1, n // 2 + 1) - 0.375) / (n + 0.25))
    total, small = 2.0 * float((expected**2).sum()), 1.0 / math.sqrt(n)
    exact = [_poly(_FIRST, small) + expected[0] / math.sqrt(total)]
    if n > 5:
        exact.append(_poly(_SECOND, small) + expected[1] / math.sqrt(total))
    exact_squares = 2.0 * float((expected[: len(exact)] ** 2).sum())
    left = 1.0 - 2.0 * sum(weight**2 for weight in exact)
    return np.concatenate([exact, expected[len(exact) :] / math.sqrt((total - exact_squares) / left)])


def _p_value(w: float, n: int) -> float:
    from scipy.special import ndtr

    if n == MIN_VALUES:
        return max(0.0, 6.0 / math.pi * (math.asin(math.sqrt(w)) - math.asin(math.sqrt(0.75))))
    if w >= 1.0:
        return 1.0
    y, size = math.log(1.0 - w), math.log(n)
    if n > _SMALL:
        mean, spread = _poly(_LARGE_MEAN, size), math.exp(_poly(_LARGE_SPREAD, size))
    else:
        bound = _poly(_SMALL_BOUND, n)
        if y >= bound:
            return 0.0
        y = -math.log(bound - y)
        mean, spread = _poly(_SMALL_MEAN, n), math.exp(_poly(_SMALL_SPREAD, n))
    return float(ndtr((mean - y) / spread))


def _poly(powers: Sequence[float], x: float) -> float:
    return sum(factor * x**power for power, factor in enumerate(powers))


@dataclass(frozen=True, kw_only=True)
class Components:
    """Variance by level, innermost first: `counts` r_i, `within` S_i^2, and `added` T_i^2, which may be negative."""

    mean: float
    counts: tuple[int, ...]
    within: tuple[float, ...]
    added: tuple[float, ...]

    @property
    def effective(self) -> tuple[float, ...]:
        """T_i^2, negative values set to 0."""
        return tuple(max(t, 0.0) for t in self.added)


def components(data: ArrayLike) -> Components:
    """Variance components of `data` of shape [r_L, ..., r_2, r_1], at least 2 units at every level."""
    values = np.asarray(data, dtype=np.float64)
    if values.ndim == 0 or min(values.shape) < 2 or not np.all(np.isfinite(values)):
        raise ValueError(
            f"the data must be finite numbers with at least 2 units at every level, not of shape {values.shape}; "
            "levels must be balanced: cut longer ones"
        )
    within = _mean_variances(values)
    counts = values.shape[::-1]
    added = [within[0], *(s - below / r for s, below, r in zip(within[1:], within[:-1], counts[:-1], strict=True))]
    return Components(mean=float(values.mean()), counts=counts, within=tuple(within), added=tuple(added))


def optimal_counts(measured: Components, costs: Sequence[float]) -> tuple[int | None, ...]:
    """Cheapest r_1 ... r_(L-1), innermost first; None if the level above adds nothing: as many as the budget allows.

    `costs`: seconds for one more unit at level 1 ... L (a step; start and warm-up of a launch; an allocation).
    """
    if len(costs) != len(measured.counts) or not all(math.isfinite(c) and c > 0.0 for c in costs):
        raise ValueError(f"each of the {len(measured.counts)} levels needs a cost above 0, innermost first, not {list(costs)}")
    added = measured.effective
    return tuple(_best(added[i], added[i + 1], costs[i + 1] / costs[i]) for i in range(len(costs) - 1))


def _mean_variances(values: NDArray[np.float64]) -> list[float]:
    """S_1^2 ... S_L^2: at each level the variance among siblings, averaged over their parents."""
    variances = []
    while values.ndim:
        variances.append(float(np.mean(np.var(values, axis=-1, ddof=1))))
        values = values.mean(axis=-1)
    return variances


def _best(added: float, above: float, price: float) -> int | None:
    if above == 0.0:
        return None if added > 0.0 else 1
    return max(1, math.ceil(math.sqrt(price * added / above)))
