"""How far do raters agree, beyond what chance would give them?

Krippendorff's alpha (Content Analysis, 2004; "Computing Krippendorff's Alpha-Reliability", 2011) = 1 - observed / expected disagreement, for any
number of raters and missing ratings.  Over items with m_u >= 2 ratings, n of them pairable, and delta the squared distance of two values:

    observed = 1/n sum_u sum over ordered pairs of ratings of u  delta / (m_u - 1)
    expected = 1/(n (n - 1)) sum over ordered pairs of all pairable ratings  delta

    nominal    delta = 1 if the values differ
    ordinal    delta = (ratings of the ranks between both, half of each end's)^2
    interval   delta = (difference)^2

Weighted kappa (Cohen, Psychological Bulletin 70, 1968) of two raters: 1 - sum w o / sum w e with w = |i - j| (linear) or its square (quadratic)
over the ranks of the values that occur or are declared; of more raters the mean over their pairs (Light 1971), each over the items that both rated.

Intervals: the delete-one jackknife over items and over raters (from three on), their variances added, Satterthwaite's t, on -log(1 - alpha), which
is unbounded.  For items, delta stays that of all ratings.  Of two raters only the items are a sample.
Cannot tell: whether raters who agree are right; alpha is low where nearly all ratings are equal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from fireassay.stats.intervals.intervals import Interval, t_quantile
from fireassay.stats.people.crossed_raters import Codes

Array = NDArray[np.float64]
Level = Literal["nominal", "ordinal", "interval"]
Weighting = Literal["linear", "quadratic"]
METHOD: Final = "jackknife over items and raters"
MIN_RATERS: Final = 3  # that are a sample of raters


@dataclass(frozen=True, kw_only=True)
class Table:
    """Ratings as codes, each of shape [ratings]: item, rater, and the rank of the value in `values`, which are sorted."""

    items: Codes
    raters: Codes
    ranks: Codes
    values: Array  # [distinct values]

    @classmethod
    def of(cls, values: Array, items: Codes, raters: Codes, declared: Sequence[float] | Array = ()) -> Table:
        """`declared`: values that count as steps of the scale though nobody gave them."""
        distinct = np.unique(np.concatenate([values, np.asarray(declared, dtype=np.float64)]))
        return cls(items=items, raters=raters, ranks=np.searchsorted(distinct, values), values=distinct)

    def without_rater(self, rater: int) -> Table:
        """The ratings of the others."""
        kept = self.raters != rater
        return Table(items=self.items[kept], raters=self.raters[kept], ranks=self.ranks[kept], values=self.values)


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """Agreement with its interval; NaN and infinite bounds where it is undefined or nothing repeats."""

    interval: Interval
    items: int  # with two ratings or more
    raters: int


def alpha(table: Table, level: Level, confidence: float) -> Agreement:
    """Krippendorff's alpha; NaN where all ratings are equal or no item has two."""
    counts = _paired_counts(table)
    value = _alpha(counts, level, table.values)
    if not math.isfinite(value):
        return Agreement(interval=Interval(value=value, low=-math.inf, high=math.inf), items=len(counts), raters=_raters(table))
    left = [_without_items(counts, level, table.values)]
    if _raters(table) >= MIN_RATERS:
        others = (table.without_rater(rater) for rater in np.unique(table.raters))
        left.append(np.array([_alpha(_paired_counts(one), level, one.values) for one in others]))
    return Agreement(interval=_jackknifed(value, left, confidence), items=len(counts), raters=_raters(table))


def weighted_kappa(table: Table, weighting: Weighting, confidence: float) -> Agreement:
    """Weighted kappa, of more than two raters the mean over pairs; NaN where it is undefined for every pair."""
    present = np.unique(table.raters)
    grid = _grid(table)
    cost = _cost(len(table.values), weighting)
    value = _kappa(grid, cost)
    if not math.isfinite(value):
        return Agreement(interval=Interval(value=value, low=-math.inf, high=math.inf), items=len(grid), raters=len(present))
    left = [np.array([_kappa(np.delete(grid, row, axis=0), cost) for row in range(len(grid))])]
    if len(present) >= MIN_RATERS:
        left.append(np.array([_kappa(np.delete(grid, column, axis=1), cost) for column in range(len(present))]))
    return Agreement(interval=_jackknifed(value, left, confidence), items=len(grid), raters=len(present))


# ---- alpha -----------------------------------------------------------------------------------------------------------


def _raters(table: Table) -> int:
    return len(np.unique(table.raters))


def _paired_counts(table: Table) -> Array:
    """How often each value was given to each item that has two ratings, shape [items, values]."""
    if not len(table.items):
        return np.empty((0, len(table.values)))
    counts = np.zeros((int(table.items.max()) + 1, len(table.values)))
    np.add.at(counts, (table.items, table.ranks), 1.0)
    return np.asarray(counts[counts.sum(axis=1) >= 2.0])


def _alpha(counts: Array, level: Level, values: Array) -> float:
    totals = counts.sum(axis=0)
    n, distance = float(totals.sum()), _distances(level, values, totals)
    expected = float(totals @ distance @ totals)
    if expected <= 0.0:
        return math.nan
    return 1.0 - (n - 1.0) * float(_observed(counts, distance).sum()) / expected


def _observed(counts: Array, distance: Array) -> Array:
    """Each item's disagreement, shape [items]."""
    return np.asarray(np.einsum("uc,uc->u", counts @ distance, counts) / (counts.sum(axis=1) - 1.0))


def _without_items(counts: Array, level: Level, values: Array) -> Array:
    """Alpha without each item."""
    totals = counts.sum(axis=0)
    distance = _distances(level, values, totals)
    observed, less = _observed(counts, distance), totals - counts
    expected = np.einsum("uc,uc->u", less @ distance, less)
    rest = less.sum(axis=1) - 1.0
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(expected > 0.0, 1.0 - rest * (observed.sum() - observed) / expected, np.nan))


def _distances(level: Level, values: Array, totals: Array) -> Array:
    """Squared distances of values, shape [values, values]."""
    if level == "nominal":
        return 1.0 - np.eye(len(values))
    if level == "interval":
        return np.asarray((values[:, None] - values[None, :]) ** 2)
    middle = np.cumsum(totals) - totals / 2.0  # ranks: half of each end between two middles
    return np.asarray((middle[:, None] - middle[None, :]) ** 2)


# ---- kappa -----------------------------------------------------------------------------------------------------------


def _grid(table: Table) -> Codes:
    """The rank that each rater gave each item, -1 where none, shape [items, raters]; the last rating of two counts."""
    names, column = np.unique(table.raters, return_inverse=True)
    rows, row = np.unique(table.items, return_inverse=True)
    grid = np.full((len(rows), len(names)), -1, dtype=np.intp)
    grid[row, column] = table.ranks
    return np.asarray(grid[(grid >= 0).sum(axis=1) >= 2])


def _cost(values: int, weighting: Weighting) -> Array:
    apart = np.abs(np.arange(values)[:, None] - np.arange(values)[None, :]).astype(np.float64)
    return np.asarray(apart if weighting == "linear" else apart**2)


def _kappa(grid: Codes, cost: Array) -> float:
    """Mean over pairs of raters for whom it is defined."""
    found = [_of_pair(grid[:, a], grid[:, b], cost) for a, b in combinations(range(grid.shape[1]), 2)]
    known = [one for one in found if math.isfinite(one)]
    return sum(known) / len(known) if known else math.nan


def _of_pair(a: Codes, b: Codes, cost: Array) -> float:
    both = (a >= 0) & (b >= 0)
    a, b = a[both], b[both]
    if not len(a):
        return math.nan
    expected = float(np.bincount(a, minlength=len(cost)) @ cost @ np.bincount(b, minlength=len(cost))) / len(a)
    return 1.0 - float(cost[a, b].sum()) / expected if expected > 0.0 else math.nan


# ---- intervals -------------------------------------------------------------------------------------------------------


def _jackknifed(value: float, left: Sequence[Array], confidence: float) -> Interval:
    """Bounds from the values without each unit, one array for each kind of unit; unbounded where a value is undefined or 1."""
    unknown = Interval(value=value, low=-math.inf, high=1.0)
    if value >= 1.0 or any(len(each) < 2 or not np.isfinite(each).all() or (each >= 1.0).any() for each in left):
        return unknown
    parts = [(_variance(-np.log1p(-each)), len(each) - 1) for each in left]
    variance = sum(part for part, _ in parts)
    if variance <= 0.0:
        return unknown
    degrees = variance**2 / sum(part**2 / free for part, free in parts)
    half, middle = t_quantile((1.0 + confidence) / 2.0, degrees) * math.sqrt(variance), -math.log1p(-value)
    back: Callable[[float], float] = lambda z: -math.expm1(-z) if z > -700.0 else -math.inf  # noqa: E731
    return Interval(value=value, low=back(middle - half), high=back(middle + half))


def _variance(values: Array) -> float:
    n = len(values)
    return (n - 1.0) / n * float(((values - values.mean()) ** 2).sum())
