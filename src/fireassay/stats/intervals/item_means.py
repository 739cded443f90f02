"""How far can a mean over items be from the mean over all such items?

Independent items that are each right or wrong: Wilson's score interval (Journal of the American Statistical Association 22, 1927), of unequal
weights at the effective number of items: Kish's (Survey Sampling, 1965, 8.2), or fewer if the heavy items are the uncertain ones (the variance of
a share that the items show).  With lognormal weights it covers 96 % of 20 and 50 items half of them right; Student's covers 90 and 93.
Others: Student t over the units, which are clusters of dependent items or single ones, with the cluster-robust variance
C/(C-1) sum over clusters of (sum of weight (value - mean))^2 / (sum of weights)^2 and C-1 degrees of freedom (Liang & Zeger, Biometrika 73,
1986), limited to the possible scores.  Each bound is the outer one of Student's and of Johnson's for skewed values (Journal of the American
Statistical Association 73, 1978), which moves both by s g (1 + 2 t^2) / (6 C), g the skewness: Student's alone covers 91 to 93 % of means of
20 skewed scores.  Where at least half the units have one value and fewer than `FEW` another, neither knows the spread, and Gaffke's bound
(`bounded_mean`) counts too, if the scale is bounded.
Cannot tell: whether the items stand for real use; rare heavy items among few (a tenth of 20 items with ten times the weight, and half right where
the others are 97 % right, is held in 85 %).

How often is at least one of k programs right, over problems like these?

Of n programs for a problem c are right: 1 - C(n-c, k)/C(n, k) = 1 - prod over i = n-c+1 ... n of (1 - k/i), the unbiased estimate
(Chen et al., arXiv:2107.03374); 1 - (1 - c/n)^k is too low.  The score is its mean over problems.  Programs of one problem share its difficulty, so
problems are the units: the bounds are Gaffke's of a mean between 0 and 1 (`bounded_mean`).  Student's t falls short where problems are few or
mostly solved or mostly not: of 20 problems it covers 65 to 98 %, Gaffke's at least 95 % (`benchmarks/sandbox.py`).
Cannot tell: anything about problems of another sort, or whether the programs were known by heart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fireassay.stats.intervals import bounded_mean
from fireassay.stats.intervals.bounded_mean import Units, lower, upper
from fireassay.stats.intervals.intervals import Interval, t_quantile

Array = NDArray[np.float64]
Labels = Sequence[Hashable | None]  # the cluster of each item; None: a separate unit
FEW: Final = 5  # units that differ from the most common value; 10 made intervals of 50 items cover 99 %
METHOD: Final = "Student t, skewness-corrected"


def wilson(right: float, total: float, confidence: float) -> Interval:
    """Score interval of a share of `total` independent items."""
    if not (total > 0.0 and 0.0 <= right <= total):
        raise ValueError(f"a share needs 0 <= right <= total and a total above 0, not {right} of {total}")
    z, p = t_quantile((1.0 + confidence) / 2.0, math.inf), right / total
    middle = (p + z * z / (2.0 * total)) / (1.0 + z * z / total)
    half = z / (1.0 + z * z / total) * math.sqrt(p * (1.0 - p) / total + z * z / (4.0 * total * total))
    return Interval(value=p, low=max(0.0, middle - half) if right else 0.0, high=min(1.0, middle + half) if right < total else 1.0)


def of_items(values: Array, weights: Array, clusters: Labels | None, scale: tuple[float, float], confidence: float) -> Interval:
    """Interval of the weighted mean of `values` (shape [items]); fewer than two units bound nothing but the scale."""
    mean, error, units = of_units(values, weights, clusters)
    if units > 1 and is_share(values, clusters, scale):
        total = _effective(mean, error, weights)
        return wilson(mean * total, total, confidence)
    member = members(len(values), clusters)
    totals, sizes = (np.bincount(member, weights=each).astype(np.float64) for each in (weights * values, weights))
    low, high = _skewed(totals - mean * sizes, error, confidence) if units > 1 else (-math.inf, math.inf)
    if units > 1 and math.isfinite(scale[0]) and math.isfinite(scale[1]) and _hardly_any_differ(totals / sizes):
        each, level = Units(totals=totals, sizes=sizes), (1.0 + confidence) / 2.0
        low = min(low, bounded_mean.lower(each, scale[0], level) - mean)
        high = max(high, bounded_mean.upper(each, scale[1], level) - mean)
    return Interval(value=mean, low=max(scale[0], mean + low), high=min(scale[1], mean + high))


def is_share(values: Array, clusters: Labels | None, scale: tuple[float, float]) -> bool:
    """True if independent items are each right or wrong; zeros and ones on an unknown scale may be others next time."""
    return clusters is None and scale == (0.0, 1.0) and bool(np.isin(values, (0.0, 1.0)).all())


def _effective(share: float, error: float, weights: Array) -> float:
    """How many items of equal weight would tell as much."""
    kish = float(weights.sum()) ** 2 / float(weights @ weights)
    even = bool(np.all(weights == weights[0])) or error == 0.0
    plain = error**2 * (1.0 - 1.0 / len(weights))  # Wilson's variance has no divisor C - 1 either
    return kish if even else min(kish, share * (1.0 - share) / plain)


def _skewed(pulls: Array, error: float, confidence: float) -> tuple[float, float]:
    """Where the bounds lie from the mean: the outer ones of Student's and Johnson's."""
    units = len(pulls)
    t, spread = t_quantile((1.0 + confidence) / 2.0, units - 1), math.sqrt(float(pulls @ pulls) / units)
    skewness = float(np.mean((pulls / spread) ** 3)) if spread > 0.0 else 0.0
    shift = error * skewness * (1.0 + 2.0 * t * t) / (6.0 * math.sqrt(units))
    return min(0.0, shift) - t * error, max(0.0, shift) + t * error


def _hardly_any_differ(means: Array) -> bool:
    """True if most units have one value, and few another: ten units of ten values do show their spread."""
    common = int(np.unique(means, return_counts=True)[1].max())
    return len(means) - common < min(FEW, common + 1)


def of_units(values: Array, weights: Array, clusters: Labels | None) -> tuple[float, float, int]:
    """Weighted mean, its cluster-robust standard error, and the number of units."""
    total = float(weights.sum())
    mean = float(values @ weights) / total
    member = members(len(values), clusters)
    units = int(member.max()) + 1
    if units < 2:
        return mean, math.inf, units
    pulls = np.bincount(member, weights=weights * (values - mean))
    return mean, math.sqrt(units / (units - 1) * float(pulls @ pulls)) / total, units


def members(items: int, clusters: Labels | None) -> NDArray[np.intp]:
    """The unit of each item: its cluster, or itself where it has none."""
    if clusters is None:
        return np.arange(items)
    if len(clusters) != items:
        raise ValueError(f"each of the {items} items needs the label of its cluster, or None, not {len(clusters)} labels")
    known: dict[Hashable, int] = {}
    if None not in clusters:
        return np.array([known.setdefault(label, len(known)) for label in clusters])
    keys = ((label is None, index if label is None else label) for index, label in enumerate(clusters))
    return np.array([known.setdefault(key, len(known)) for key in keys])


Weighted = Callable[[Array], Array]  # weights [resamples, items] -> score of each resample; NaN: undefined
AT_ONCE: Final = 1 << 21  # weights held at a time: 16 MiB


def leaving_out(weighted: Weighted, weights: Array, member: NDArray[np.intp]) -> Array:
    """The score without each unit, shape [units]; `member` is the unit of each item."""
    units, at_once = int(member.max()) + 1, max(1, AT_ONCE // len(weights))
    parts = [np.arange(begin, min(begin + at_once, units)) for begin in range(0, units, at_once)]
    return np.concatenate([weighted(np.where(member == part[:, None], 0.0, weights)) for part in parts])


@dataclass(frozen=True, kw_only=True)
class Solved:
    """One problem: how many programs were judged, and how many of them are right."""

    samples: int
    right: int


def pass_at_k(solved: Solved, k: int) -> float:
    """The probability that k programs drawn from these, without repetition, hold a right one.

    Raises:
        ValueError: fewer than k programs, or impossible counts.
    """
    if not (0 <= solved.right <= solved.samples and 1 <= k <= solved.samples):
        raise ValueError(
            f"pass@{k} needs at least {k} programs of which between none and all are right, not {solved.right} of {solved.samples}"
        )
    return 1.0 - math.prod(1.0 - k / i for i in range(solved.samples - solved.right + 1, solved.samples + 1))


def of_problems(problems: Sequence[Solved], k: int, confidence: float) -> Interval:
    """Mean over problems, two-sided bounds."""
    values = np.array([pass_at_k(solved, k) for solved in problems])
    units = Units(totals=values, sizes=np.ones(len(values)))
    side = (1.0 + confidence) / 2.0
    return Interval(value=units.mean, low=lower(units, 0.0, side), high=upper(units, 1.0, side))
