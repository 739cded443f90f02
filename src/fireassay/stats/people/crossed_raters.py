"""How far can a mean of ratings be from the mean over all such items and all such raters?

Crossed random effects, y = mean + item + rater + rest; any cell may be missing.  With weights w that sum to 1, and w_i, w_r their sums by item
and by rater, the variance of the weighted mean is

    s_item^2 sum w_i^2 + s_rater^2 sum w_r^2 + s_rest^2 sum w^2

The three variances are estimated by moments (Henderson 1953; Gao & Owen, Electronic Journal of Statistics 11, 2017): sums of squares within
items, within raters and in total, equated to their expectations.  Of complete tables this is the analysis of variance, and the variance of the mean
(MS_item + MS_rater - MS_rest) / cells.  A variance below 0 counts as 0.

Bounds are quantiles of Z sqrt(MS_item f / chi2_f + MS_rater g / chi2_g - MS_rest), over cells: what the mean squares say of the variances, weighed with
what their degrees of freedom f and g leave open (generalized confidence intervals: Weerahandi, JASA 88, 1993).  Where one of both is all there is, this
is Student's t.  Satterthwaite's t (Biometrics Bulletin 2, 1946) takes the variances as they were seen; with five raters it held a loss of the margin in
6.2 % of 4,000 experiments, since the fewer the raters happen to differ, the more degrees of freedom it counts. `degrees` has it, to plan by.

Two-way cluster-robust variances (Cameron, Gelbach & Miller, 2011) subtract the spread of single ratings, which with five raters takes a fifth of the
items' own variance away; that is why they are not used here.

`benchmarks/people.py` measures coverage with 5, 20 and 100 raters.
Cannot tell: whether these raters stand for others, or whether the steps of a scale from 1 to 5 are equally wide.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fireassay.stats.intervals.intervals import Interval, t_quantile

Array = NDArray[np.float64]
Codes = NDArray[np.intp]
METHOD: Final = "raters and items crossed, generalized interval"
NODES: Final = 64  # of the quadrature; Student's quantiles to 0.02 % up to 97.5 %


@dataclass(frozen=True, kw_only=True)
class Ratings:
    """One value for each rating: what was rated, by whom, and its weight; all of shape [ratings]."""

    values: Array
    items: Codes  # 0 ... items - 1
    raters: Codes
    weights: Array

    @classmethod
    def of(
        cls, values: Sequence[float] | Array, items: Sequence[Hashable], raters: Sequence[Hashable], weights: Array | None = None
    ) -> Ratings:
        """With labels for items and raters; each item counts alike however many ratings it has, unless `weights` are given."""
        of_item, of_rater = codes(items), codes(raters)
        even = 1.0 / np.bincount(of_item)[of_item] if weights is None else weights
        return cls(values=np.asarray(values, dtype=np.float64), items=of_item, raters=of_rater, weights=even)


@dataclass(frozen=True, kw_only=True)
class CrossedMean:
    """A weighted mean with its standard error and degrees of freedom, and the parts of the variance of one rating."""

    value: float
    error: float  # infinite where nothing repeats
    degrees: float
    items: int
    raters: int
    of_items: float  # variances of the parts, at least 0
    of_raters: float
    of_rest: float
    fixed: float = 0.0  # what more items would not take away of the squared error
    squares: tuple[
        tuple[float, float], ...
    ] = ()  # of items and raters: their part of the squared error with the rest's, degrees of freedom
    noise: float = 0.0  # the rest's part

    def interval(self, confidence: float) -> Interval:
        """Two-sided."""
        half = self._half((1.0 + confidence) / 2.0)
        return Interval(value=self.value, low=self.value - half, high=self.value + half)

    def lower(self, confidence: float) -> float:
        """One-sided."""
        return self.value - self._half(confidence)

    def upper(self, confidence: float) -> float:
        """One-sided."""
        return self.value + self._half(confidence)

    def _half(self, level: float) -> float:
        if not 0.0 < self.error < math.inf:
            return self.error
        return generalized(self.squares, self.noise, level) if self.squares else self.error * t_quantile(level, self.degrees)


def generalized(squares: Sequence[tuple[float, float]], noise: float, level: float) -> float:
    """The quantile at `level` > 1/2 of Z sqrt(sum of square f / chi2_f - noise), with (square, f) of two independent chi2_f."""
    from scipy.optimize import brentq
    from scipy.special import gammaincinv, ndtr

    shares, weights = _quadrature()
    first, second = (square * free / (2.0 * gammaincinv(free / 2.0, shares)) for square, free in squares)
    errors = np.sqrt(np.maximum(first[:, None] + second[None, :] - noise, np.finfo(np.float64).tiny))
    both, largest = np.outer(weights, weights), float(errors.max())
    errors /= largest  # so that the root is found as closely whatever the unit
    return largest * float(brentq(lambda bound: float((both * ndtr(bound / errors)).sum()) - level, 0.0, 10.0))


@cache
def _quadrature() -> tuple[Array, Array]:
    """Places and weights of Gauss and Legendre in (0, 1)."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    return (nodes + 1.0) / 2.0, weights / 2.0


def items_for(mean: CrossedMean, gap: float, confidence: float, power: float) -> int | None:
    """How many items, rated by as many raters, would show a distance of `gap` with this power; None if only more raters can."""
    reach = t_quantile(confidence, mean.degrees) + t_quantile(power, math.inf)
    left = (gap / reach) ** 2 - mean.fixed
    return math.ceil(mean.items * (mean.error**2 - mean.fixed) / left) if left > 0.0 and math.isfinite(mean.error) else None


def codes(labels: Sequence[Hashable]) -> Codes:
    """Each label's number, in the order of their first appearance."""
    known: dict[Hashable, int] = {}
    return np.array([known.setdefault(label, len(known)) for label in labels], dtype=np.intp)


def crossed_mean(ratings: Ratings) -> CrossedMean:
    """The weighted mean of ratings by raters of items, both taken as samples.

    Raises:
        ValueError: no rating.
    """
    if not len(ratings.values):
        raise ValueError("a mean needs at least one rating")
    weights = ratings.weights / float(ratings.weights.sum())
    value = float(weights @ ratings.values) if np.ptp(ratings.values) else float(ratings.values[0])  # exact for equal values
    of_item, of_rater = (np.bincount(labels, weights=weights).astype(np.float64) for labels in (ratings.items, ratings.raters))
    items, raters = len(of_item), len(of_rater)
    parts = _variances(ratings)
    if parts is None or items < 2:
        return CrossedMean(value=value, error=math.inf, degrees=1.0, items=items, raters=raters, of_items=0.0, of_raters=0.0, of_rest=0.0)
    item, rater, rest = (max(0.0, part) for part in parts)
    noise = rest * float(weights @ weights)
    by_item, by_rater = item * float(of_item @ of_item), rater * float(of_rater @ of_rater)
    variance = by_item + by_rater + noise
    free = [_effective(of_item) - 1.0, _effective(of_rater) - 1.0]
    spread = sum((by + noise) ** 2 / degrees for by, degrees in zip((by_item, by_rater), free, strict=True) if degrees > 0.0)
    rest_free = max(1.0, free[0] * free[1]) if raters > 1 else free[0]
    spread += noise**2 / rest_free if raters > 1 else 0.0
    degrees = variance**2 / spread if spread > 0.0 else free[0]
    return CrossedMean(
        value=value,
        error=math.sqrt(variance),
        degrees=max(1.0, degrees),
        items=items,
        raters=raters,
        of_items=item,
        of_raters=rater,
        of_rest=rest,
        fixed=by_rater,
        squares=tuple(zip((by_item + noise, by_rater + noise), free, strict=True)) if by_rater > 0.0 and min(free) > 0.0 else (),
        noise=noise,
    )


def _effective(shares: Array) -> float:
    """Kish's number of units of equal weight."""
    return 1.0 / float(shares @ shares)


def _variances(ratings: Ratings) -> tuple[float, float, float] | None:
    """Variances of items, raters and the rest, which may be below 0; None if the table cannot tell any.

    One rater, or one rating of every item, leaves items and rest together: then the rest is all there is.
    """
    values = ratings.values - float(ratings.values.mean())
    total = len(values)
    per_item, per_rater = (np.bincount(labels).astype(np.float64) for labels in (ratings.items, ratings.raters))
    within_items, within_raters = (_within(values, labels) for labels in (ratings.items, ratings.raters))
    items, raters = len(per_item), len(per_rater)
    if total < 2:
        return None
    if raters < 2 or items == total:
        return _of_one_way(values, ratings, per_rater)
    squares = total * float(values @ values)
    system = np.array(
        [
            [0.0, total - items, total - items],
            [total - raters, 0.0, total - raters],
            [total**2 - float(per_item @ per_item), total**2 - float(per_rater @ per_rater), total**2 - total],
        ]
    )
    if np.linalg.matrix_rank(system) < 3:
        return _of_one_way(values, ratings, per_rater)
    item, rater, rest = np.linalg.solve(system, np.array([within_items, within_raters, squares]))
    return float(item), float(rater), float(rest)


def _of_one_way(values: Array, ratings: Ratings, per_rater: Array) -> tuple[float, float, float]:
    """Items that nobody rated twice: raters against the rest; of one rater the spread of all ratings."""
    total, raters = len(values), len(per_rater)
    if raters < 2 or raters == total:
        return 0.0, 0.0, float(values @ values) / (total - 1)
    within = _within(values, ratings.raters) / (total - raters)
    between = (float(values @ values) - within * (total - raters)) / (raters - 1)
    size = (total - float(per_rater @ per_rater) / total) / (raters - 1)
    return 0.0, (between - within) / size, within


def _within(values: Array, labels: Codes) -> float:
    """Sum of squares around the mean of each label."""
    counts = np.bincount(labels)
    rest = values - (np.bincount(labels, weights=values) / counts)[labels]
    return float(rest @ rest)
