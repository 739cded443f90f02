"""Do values rise or fall in order of measurement, and by how much?

Mann-Kendall test (Kendall's tau against the order; exact p-value for up to 33 values without ties) and Theil-Sen slope (median
of all pairwise slopes), robust to almost a third of outliers.  Sources: Mann, Econometrica 13, 1945; Sen, Journal of the
American Statistical Association 63, 1968; Kendall, Rank Correlation Methods, 4th ed., 1970.
SciPy gives the same results, but its import takes most of a second.
Assumes that without a trend every order is equally likely: autocorrelated values give too small a p-value.
Cannot tell: a trend from a single jump, or one that rises and falls again.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

FEWEST: Final = 4  # fewer values give no p-value below 0.3
MOST_EXACT: Final = 33  # without ties; for more the normal approximation is as good


@dataclass(frozen=True, kw_only=True)
class Trend:
    """A monotone trend."""

    change: float  # in the values' unit: slope x (last position - first position)
    p: float  # two-sided
    n: int


def trend(positions: Sequence[float], values: Sequence[float]) -> Trend | None:
    """The trend of values over their positions (times or block numbers); None for fewer than `FEWEST` or equal values.

    Raises:
        ValueError: the numbers of positions and values differ.
    """
    if len(positions) != len(values):
        raise ValueError(f"{len(positions)} positions for {len(values)} values")
    if len(values) < FEWEST or len(set(values)) == 1 or len(set(positions)) < FEWEST:
        return None
    x, y = np.asarray(positions, dtype=np.float64), np.asarray(values, dtype=np.float64)
    run, rise = x[:, None] - x, y[:, None] - y
    later = run > 0
    slope = float(np.median(rise[later] / run[later]))
    score = round(float((np.sign(run) * np.sign(rise)).sum()) / 2)  # concordant pairs less discordant ones
    most = len(x) * (len(x) - 1) // 2
    few = len(x) <= MOST_EXACT or most - abs(score) <= 2  # or almost none out of order
    p = _exact(len(x), score) if few and _untied(x) and _untied(y) else _normal(x, y, score)
    return Trend(change=slope * (max(positions) - min(positions)), p=min(1.0, p), n=len(values))


def _untied(values: npt.NDArray[np.float64]) -> bool:
    return len(np.unique(values)) == len(values)


def _exact(n: int, score: int) -> float:
    """Two-sided p-value of Kendall's score among all orders of n values without ties (Kendall 1970, section 5)."""
    pairs = n * (n - 1) // 2
    fewer = (pairs - abs(score)) // 2  # discordant pairs, or concordant ones if these are fewer
    if 2 * fewer == pairs:
        return 1.0
    orders = [1] + [0] * fewer  # orders of the first j values by their number of discordant pairs
    for j in range(2, n + 1):
        sums = [0, *itertools.accumulate(orders)]
        orders = [sums[k + 1] - sums[max(0, k + 1 - j)] for k in range(fewer + 1)]
    return 2 * sum(orders) / math.factorial(n)


def _normal(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64], score: int) -> float:
    """Two-sided p-value by the normal approximation, with ties."""
    from scipy.special import ndtr

    return 2.0 * float(ndtr(-abs(score) / math.sqrt(_variance(x, y))))


def _variance(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> float:
    """Variance of the score with ties, without a trend (Kendall 1970, section 4.5)."""
    n = len(x)
    ties = [np.unique(values, return_counts=True)[1].astype(np.float64) for values in (x, y)]
    two = [float((t * (t - 1)).sum()) for t in ties]
    three = [float((t * (t - 1) * (t - 2)).sum()) for t in ties]
    five = [float((t * (t - 1) * (2 * t + 5)).sum()) for t in ties]
    both = two[0] * two[1] / (2 * n * (n - 1)) + three[0] * three[1] / (9 * n * (n - 1) * (n - 2))
    return (n * (n - 1) * (2 * n + 5) - five[0] - five[1]) / 18 + both
