"""Where does the variation arise, and how many repetitions at each level cost least?

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

import numpy as np
from numpy.typing import ArrayLike, NDArray


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
