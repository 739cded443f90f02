"""Does a stretch of values contain a step, and where?

Robust to isolated outliers and to autocorrelation:

    w_t   values less their median, in units of 1.4826 MAD; a value beyond +- 3.5 is clipped there, or at the level that three
          successive values reach: one or two outliers weigh like ordinary large values, three are a level
    T(t)  |mean(w after t) - mean(w before t)| / (s sqrt(v(t))),  t = 3 ... L-3
    s     deviation of w around its two levels at the best split, at least what earlier stretches of the history suggest
    v(t)  exact variance of that difference of means for AR(1) values of variance 1 and autocorrelation phi; a side whose own
          values, or the 20 nearest its end, vary clearly more than s gets that variance instead
    phi   (L r + 11) / (L + 15), within 0 and 0.9; r: lag-1 autocorrelation around the two levels, biased downwards by the split
          and by short series; earlier stretches are included.  phi always applies, however small
    z     normal deviate with the same tail as the largest T, Student t with L (1 - phi)/(1 + phi) - 2 degrees of freedom

The position minimises the cost against the two medians, at most (3 s)^2 per value; positions of similar cost form its span.
Sources: CUSUM of Page (1954), in its form for one unknown step (Hawkins 1977); Huber (1981) for clipping; variance of means
under AR(1): Priestley (1981), 5.3.2; bias of r: Kendall (1954), constant simulated.
Cannot tell: a step from a slow drift.  z has no null distribution in closed form; `fireassay.stats.series.changes` compares it with a
simulated bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SUPPORT: Final = 3  # fewest values on each side of a step
MAD_TO_SIGMA: Final = 1.4826  # of a normal distribution
CUT: Final = 3.5  # robust deviations; three values clipped there pass as a step, one with two ordinary ones does not
BIAS: Final = 11.0  # phi of 10 ... 80 values errs upwards, so that one bound serves AR(0.5) and independent values
DRAWN: Final = 15.0  # prior values at phi = 0
BIAS_OF_LEVEL: Final = 1.5  # of L r without a split
MAX_PHI: Final = 0.9
MAX_EARLIER: Final = 50.0  # most values that earlier stretches count for phi
MAX_DEGREES: Final = 8.0  # of earlier stretches in the deviation; 0 once the stretch has 16 of its own
NEIGHBOURS: Final = 20  # values nearest an end that give the deviation there
LOUDER: Final = 1.1  # least ratio of their variance to that of all
MUCH_LOUDER: Final = 2.0  # the same for the few values of one side
COSTLY: Final = 9.0  # (3 s)^2
SPAN: Final = 6.0  # extra cost, in s^2, of positions within the span: covers about 95 %
CLEARLY: Final = 1.0 / 3.0  # of the distance between levels that a supporting value must exceed
SAME: Final = 1e-12  # relative: rounding between summation orders


@dataclass(frozen=True, kw_only=True)
class Noise:
    """Noise estimates from completed stretches of a history."""

    values: float = 0.0  # number of values
    products: float = 0.0  # sum of L r over the stretches, bias-corrected
    squares: float = 0.0  # around their levels, clipped
    degrees: float = 0.0

    def with_level(self, values: Array) -> Noise:
        """Include one more stretch of a single level."""
        if len(values) < SUPPORT:
            return self
        cut, scale = _cut(values)
        rest = cut - cut.mean()
        total = float(rest @ rest)
        r = float(rest[1:] @ rest[:-1]) / total if total > 0.0 else 0.0
        n = len(values)
        return Noise(
            values=self.values + n,
            products=self.products + n * r + BIAS_OF_LEVEL,
            squares=self.squares + total * scale**2,
            degrees=self.degrees + n - 1.0,
        )


@dataclass(frozen=True, kw_only=True)
class Strongest:
    """The strongest step of a stretch."""

    z: float  # 0 without variation
    place: int  # index of the first value of the new level, by means of clipped values
    phi: float


def strongest(values: Array, noise: Noise = Noise()) -> Strongest:
    """The strongest step in `values` (shape [L], L >= 6, finite)."""
    n = len(values)
    cut, scale = _cut(values)
    cut = cut - _mean(cut)
    if not cut.any():
        return Strongest(z=0.0, place=n // 2, phi=0.0)
    t = np.arange(SUPPORT, n - SUPPORT + 1)
    sums, weights = np.abs(cut.cumsum()[SUPPORT - 1 : n - SUPPORT]), n / (t * (n - t))
    split = SUPPORT + int((sums * np.sqrt(weights)).argmax())
    rest = cut.copy()
    rest[:split] -= _mean(cut[:split])
    rest[split:] -= _mean(cut[split:])
    total = float(rest @ rest)
    phi = _phi(rest, total, noise)
    variance, degrees = _variance(total, n, phi, scale, noise)
    if variance <= SAME:  # every value lies exactly on its level
        return Strongest(z=math.inf, place=split, phi=phi)
    squares, freed = rest * rest, variance * n / total
    old = np.maximum(variance, _local(squares, t, freed))
    new = np.maximum(variance, _local(squares[::-1], n - t, freed))
    strength = sums * weights / np.sqrt(variance_of_difference(phi, t, n, old, new))
    best = int(strength.argmax())
    return Strongest(z=_deviate(float(strength[best]), degrees), place=SUPPORT + best, phi=phi)


def variance_of_difference(phi: float, before: NDArray[np.int64], n: int, old: Array | float = 1.0, new: Array | float = 1.0) -> Array:
    """Variance of mean(last n - before) - mean(first before) for AR(1) values of variances `old` and `new`."""
    left, right, less = before.astype(np.float64), (n - before).astype(np.float64), 1.0 - phi
    power_left, power_right = np.power(phi, left), np.power(phi, right)
    of_left, of_right = (
        ((1.0 + phi) / less - 2.0 * phi * (1.0 - power) / (k * less**2)) / k for k, power in ((left, power_left), (right, power_right))
    )
    together = phi * (1.0 - power_left) * (1.0 - power_right) / (left * right * less**2)
    return np.asarray(old * of_left + new * of_right - 2.0 * np.sqrt(old * new) * together, dtype=np.float64)


def _local(squares: Array, k: NDArray[np.int64], freed: float) -> Array:
    """Variance of the first k values and their neighbours, so that a growth of noise alone is no step."""
    sums = squares.cumsum()
    near = np.minimum(np.maximum(k, NEIGHBOURS), len(squares))
    wide, alone = freed * sums[near - 1] / near / LOUDER, sums[k - 1] / (k - 1) / MUCH_LOUDER
    return np.asarray(np.maximum(wide, alone), dtype=np.float64)


def placed(values: Array, place: int, begin: int = 0, end: int | None = None) -> tuple[int, int, int]:
    """Position of the step next to `place`, and the first and last position of its span, all within `begin` and `end`.

    `begin` and `end` are the first and the last candidate; by default all that leave `SUPPORT` values.
    """
    low = max(SUPPORT, begin)
    high = min(len(values) - SUPPORT, len(values) if end is None else end)
    first, last = place, place
    for _ in range(3):
        before, after = _median(values[:place]), _median(values[place:])
        scale = _scale(np.concatenate([values[:place] - before, values[place:] - after]))
        if scale == 0.0 or before == after:
            scale = max(abs(after - before) / 10.0, SAME)
        old, new = (np.minimum(((values - level) / scale) ** 2, COSTLY) for level in (before, after))
        cost = np.append(0.0, (old - new).cumsum())[low : high + 1]
        best = low + int(np.argmin(cost))
        near = np.flatnonzero(cost <= cost.min() + SPAN)
        first, last = low + int(near[0]), low + int(near[-1])
        if best == place:
            break
        place = best
    return place, first, last


def supported(values: Array, place: int) -> bool:
    """True if `SUPPORT` values of the shorter side lie clearly towards its level; two outliers and an ordinary one do not."""
    sides = values[:place], values[place:]
    short, long = sorted(sides, key=len)
    short_median, long_median = _median(short), _median(long)
    towards = np.sign(short_median - long_median) * (short - long_median)
    return int(np.sum(towards >= CLEARLY * abs(short_median - long_median))) >= SUPPORT


def _cut(values: Array) -> tuple[Array, float]:
    """Values less their median in robust deviations, clipped, and that deviation."""
    rest = values - _median(values)
    scale = _scale(rest)
    if scale <= SAME * float(np.abs(values).max()):
        return np.zeros_like(rest), 1.0
    rest = rest / scale
    if float(np.abs(rest).max()) <= CUT:
        return rest, scale
    return np.clip(rest, -np.maximum(CUT, _reached(-rest)), np.maximum(CUT, _reached(rest))), scale


def _reached(rest: Array) -> Array:
    """The height that a run of `SUPPORT` values around each one reaches throughout (a morphological opening)."""
    runs = np.minimum(np.minimum(rest[:-2], rest[1:-1]), rest[2:])
    reached = np.full_like(rest, -np.inf)
    for shift in range(SUPPORT):
        part = reached[shift : shift + len(runs)]
        np.maximum(part, runs, out=part)
    return reached


def _mean(values: Array) -> float:
    """np.mean without its checks; a history needs thousands."""
    return float(np.add.reduce(values)) / len(values)


def _median(values: Array) -> float:
    """np.median without its checks."""
    n = len(values)
    middle = np.partition(values, (n // 2 - 1, n // 2) if n % 2 == 0 else n // 2)
    return float(middle[n // 2]) if n % 2 else 0.5 * float(middle[n // 2 - 1] + middle[n // 2])


def _scale(rest: Array) -> float:
    """1.4826 MAD, or the plain deviation if most values are equal."""
    robust = MAD_TO_SIGMA * _median(np.abs(rest))
    plain = float(np.sqrt(rest @ rest / len(rest)))
    return robust if robust > 1e-6 * plain else plain


def _phi(rest: Array, total: float, noise: Noise) -> float:
    """Lag-1 autocorrelation, including earlier stretches."""
    if total <= 0.0:
        return 0.0
    n, share = len(rest), min(1.0, MAX_EARLIER / max(noise.values, 1.0))
    products = n * float(rest[1:] @ rest[:-1]) / total + BIAS + share * noise.products
    return min(max(products / (n + DRAWN + share * noise.values), 0.0), MAX_PHI)


def _variance(total: float, n: int, phi: float, scale: float, noise: Noise) -> tuple[float, float]:
    """Variance of a clipped value around its level, in squared robust deviations, and its degrees of freedom.

    Two fitted levels take (1 + phi)/(1 - phi) degrees of freedom each.
    """
    worth = (1.0 + phi) / (1.0 - phi)
    variance = total / max(n - 2.0 * worth, n / 2.0)
    degrees = max(n / worth - 2.0, SUPPORT)
    more = min(noise.degrees, max(0.0, MAX_DEGREES - degrees / 2.0))
    if more == 0.0:
        return variance, degrees
    earlier = noise.squares / noise.degrees / scale**2
    return max(variance, (degrees * variance + more * earlier) / (degrees + more)), degrees + more


def _deviate(strength: float, degrees: float) -> float:
    from scipy.special import ndtri, stdtr

    tail = float(stdtr(degrees, -strength))
    return -float(ndtri(tail)) if tail > 0.0 else math.inf
