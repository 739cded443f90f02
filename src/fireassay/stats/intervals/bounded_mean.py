"""What are the bounds of the mean of bounded values, whatever their distribution?

Gaffke's bound (Mathematical Methods of Statistics 14, 2005; Learned-Miller & Thomas, arXiv:1905.06208): with the least possible
value a added to the values x, the lower bound is the alpha quantile of sum_i D_i x_i + D_0 a, D ~ Dirichlet(1, ..., 1).  For
0/1 values it is Clopper and Pearson's bound; without variation it is the exact rule 1 - alpha^(1/n); for many values of any
shape it approaches Student's t.  The upper bound mirrors it.  Its coverage is proven for 0/1 values, and otherwise a conjecture
that no simulation has contradicted (`benchmarks/quality_held.py`).

Clusters are the units: cluster c has the total T_c over S_c items, the mean of items is sum T / sum S, and the added value is a
whole cluster of the largest size, at a.  P(sum_c E_c (T_c - m S_c) <= 0), E exponential, uses Barndorff-Nielsen's saddlepoint
formula (Biometrika 73, 1986; within 3 %, and conservative for few units), or the exact beta distribution if there are only two
values.

Cannot tell: anything about values beyond a.  If a is unknown, `extrapolated` estimates it from the observed tail.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fireassay.stats.solvers import root

Array = NDArray[np.float64]

MIN_OF_A_TAIL: Final = 3  # fewest values that show a tail
FEW_OF_A_TAIL: Final = 15  # fewer show it poorly: it may reach
FEW_FARTHER: Final = 1.5  # times farther
MISSED: Final = 0.01  # how often values may lie beyond the extrapolation
NEAR_THE_MEAN: Final = 1e-4  # in standard deviations: the formula is 0/0 there
FARTHEST: Final = 40.0  # standard deviations
MAX_STEPS: Final = 200  # of Newton's method; about ten is usual
LEAST_WEIGHT: Final = 1e-100  # beside one of about 1: a smaller one counts as none, for floats hold no reciprocal square of it


@dataclass(frozen=True, kw_only=True)
class Units:
    """Independent units: each one's total over its items, and its number of items (both of shape [units])."""

    totals: Array
    sizes: Array
    added: float | None = None  # size of the one more unit; None: that of the largest

    @property
    def mean(self) -> float:
        """Mean over all items."""
        return float(self.totals.sum() / self.sizes.sum())


def lower(units: Units, least: float, confidence: float) -> float:
    """One-sided lower bound of the mean over items, each at least `least`."""
    if not math.isfinite(least):
        return -math.inf
    _, power = math.frexp(float(np.abs(units.totals).max(initial=abs(least))))  # totals of about 1: floats hold their squares
    scaled = replace(units, totals=np.ldexp(units.totals, -power))
    return math.ldexp(_lower(scaled, math.ldexp(least, -power), 1.0 - confidence), power)


def _lower(units: Units, least: float, alpha: float) -> float:
    mean = units.mean
    if mean <= least:
        return least
    if (exact := _of_two_values(units, least, alpha)) is not None:
        return exact
    from scipy.special import ndtri

    largest = float(units.sizes.max()) if units.added is None else units.added
    pairs = np.append(units.totals, least * largest) + 1j * np.append(units.sizes, largest)  # complex pairs, to count duplicates
    known, counts = np.unique(pairs, return_counts=True)
    top = float(pairs.real.sum() / pairs.imag.sum())  # the probability is about 1/2 there

    def excess(bound: float) -> float:
        return _score(known.real - bound * known.imag, counts.astype(np.float64)) - float(ndtri(alpha))

    return root(excess, least, top, tolerance=1e-8 * (top - least))


def upper(units: Units, most: float, confidence: float) -> float:
    """One-sided upper bound of the mean over items, each at most `most`."""
    return -lower(replace(units, totals=-units.totals), -most, confidence)


def expected_half_width(units: float, deviation: float, largest: float, confidence: float) -> float:
    """How far below 0 the bound lies of `units` values in -1..1 that spread by `deviation` around 0, for plans.

    `largest`: size of the largest unit over the mean one.  The values are taken to be half +deviation and half -deviation: their shape hardly
    matters, but the added value does.
    """
    from scipy.special import ndtri

    counts = np.array([units / 2.0, units / 2.0, 1.0])

    def excess(bound: float) -> float:
        weights = np.array([-deviation - bound, deviation - bound, largest * (-1.0 - bound)])
        return _score(weights, counts) - float(ndtri(1.0 - confidence))

    return -root(excess, -1.0, -largest / (units + largest), tolerance=1e-8)


def extrapolated(values: Array) -> float:
    """How far from 0 another value of the same tail might lie, judged from these; inf if the tail has no mean.

    In 1 % of cases n values miss an event of probability ln(100)/n.  With Hill's estimate h of the tail around the median (Annals
    of Statistics 3, 1975), from the sqrt(n) farthest, that lies ln(100)^h times farther out than the farthest value; for h >= 1
    there is no mean.  Fewer than 15 values show a tail poorly: 1.5 times as far.
    """
    middle = float(np.median(values))
    moved = np.sort(np.abs(values[values != middle] - middle))[::-1]
    largest = float(moved[0]) if len(moved) else 0.0
    k = min(len(moved) - 1, max(MIN_OF_A_TAIL, round(math.sqrt(len(values)))))
    if k < MIN_OF_A_TAIL:
        return abs(middle) + largest
    index = float(np.mean(np.log(moved[:k] / moved[k])))
    largest *= FEW_FARTHER if k < FEW_OF_A_TAIL else 1.0
    return math.inf if index >= 1.0 else abs(middle) + largest * math.log(1.0 / MISSED) ** index


def _of_two_values(units: Units, least: float, alpha: float) -> float | None:
    """The exact bound for equal units with one value besides `least`; otherwise None."""
    from scipy.special import betaincinv

    if float(np.ptp(units.sizes)) > 0.0 or units.added not in (None, units.sizes[0]):
        return None
    means = units.totals / units.sizes
    above = means[means > least]
    if len(above) == 0 or float(np.ptp(above)) > 0.0:
        return None
    count = len(above)
    return least + (float(above[0]) - least) * float(betaincinv(count, len(means) - count + 1, alpha))


def _score(weights: Array, counts: Array) -> float:
    """Normal quantile of P(sum_i w_i E_i <= 0), E independent standard exponentials, `counts[i]` of them with weight w_i."""
    _, power = math.frexp(float(np.abs(weights).max()))
    weights = np.ldexp(weights, -power)
    weights = np.where(np.abs(weights) < LEAST_WEIGHT, 0.0, weights)
    if float(weights.min()) >= 0.0 or float(weights.max()) <= 0.0:
        return -FARTHEST if float(weights.min()) >= 0.0 else FARTHEST
    s = _saddle(weights, counts)
    left = 1.0 - s * weights
    w = math.copysign(math.sqrt(max(0.0, 2.0 * float(counts @ np.log(left)))), s)
    u = s * math.sqrt(float(counts @ (weights / left) ** 2))
    if abs(w) < NEAR_THE_MEAN:
        return 0.0
    return min(FARTHEST, max(-FARTHEST, w + math.log(u / w) / w))


def _saddle(weights: Array, counts: Array) -> float:
    """Minimum of the cumulant function -sum log(1 - s w_i), which lies between the poles of its slope.

    Newton steps to the zero of the slope times its distances from both poles, which is a straight line for two weights; a step out of
    the bracket becomes a bisection.
    """
    low = left = 1.0 / float(weights.min())
    high = right = 1.0 / float(weights.max())
    s = 0.0
    for _ in range(MAX_STEPS):
        parts = weights / (1.0 - s * weights)
        slope, curve = float(counts @ parts), float(counts @ parts**2)
        if abs(slope) < 1e-7 * math.sqrt(curve):
            return s - slope / curve
        low, high = (low, s) if slope > 0.0 else (s, high)
        room = (s - left) * (right - s)
        s -= slope * room / (curve * room + slope * (left + right - 2.0 * s) or math.inf)
        if not low < s < high:
            s = 0.5 * (low + high)
    return s
