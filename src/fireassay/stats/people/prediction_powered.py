"""How far is a mean from the truth if a judge scored all items and people a random few of them?

Prediction-powered inference (Angelopoulos, Bates, Fannjiang, Jordan and Zrnic, Science 382, 2023) with power tuning (PPI++: Angelopoulos, Duchi and
Zrnic, arXiv:2311.01453).  Of n labelled items Y is people's label and f the judge's; of N others there is f alone:

    mean      L mean_N(f) + mean_n(Y - L f),  L = cov(Y, f) / ((1 + n/N) var(f)), kept within 0 to 1
    bounds    the two parts are of different items: each has its own bound (`item_means`), and their distances add in squares (Banerjee, Sankhya 22,
              1960); the rectifier's is widened by sqrt((n - 1) / (n - 2)), since L was fitted to it
    clusters  one linearised sum for each cluster, which may hold items of both parts; Student's t over the clusters with labels, widened alike

Whatever the judge does, the mean is that of people's labels; a useless judge gets L near 0, and then the labels alone count.
The judge is worth as many labels as people would have to add for the same variance: n (1 / (1 - r^2 N/(n + N)) - 1), with r the correlation of Y and f on
labelled items; its interval is the delete-one jackknife of atanh(r) over them.
Cannot tell: whether the labelled items are a random sample, or whether the people are right.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fireassay.stats.intervals import bounded_mean, item_means
from fireassay.stats.intervals.bounded_mean import Units
from fireassay.stats.intervals.intervals import Interval, smallest, t_quantile

Array = NDArray[np.float64]
METHOD: Final = "prediction-powered (PPI++)"
MOST_CORRELATED: Final = 0.999999
FEW: Final = item_means.FEW  # of two or three labels that differ, the jackknife covers the worth in 75 %


@dataclass(frozen=True, kw_only=True, eq=False)
class Judged:
    """Items with the judge's value, and people's where there is one; all of shape [items]."""

    judge: Array
    gold: Array  # NaN: not labelled
    weights: Array
    clusters: Sequence[Hashable | None] | None = None
    scale: tuple[float, float] = (-math.inf, math.inf)  # smallest and largest possible value of either

    @cached_property
    def labelled(self) -> NDArray[np.bool_]:
        """Which items people labelled."""
        return np.isfinite(self.gold)

    @property
    def labels(self) -> int:
        """How many of them there are."""
        return int(self.labelled.sum())

    @property
    def judge_alone(self) -> float:
        """The mean of the judge's values, which may be biased."""
        return float(np.average(self.judge, weights=self.weights))

    @cached_property
    def tuning(self) -> float:
        """How much the judge counts: 0 not at all, 1 as in plain prediction-powered inference."""
        others = len(self.judge) - self.labels
        spread = float(np.cov(self.judge, aweights=self.weights)) if len(self.judge) > 1 else 0.0
        if not others or self.labels < 2 or not spread > 0.0:
            return 0.0
        y, f, w = self.gold[self.labelled], self.judge[self.labelled], self.weights[self.labelled]
        shared = float(np.cov(y, f, aweights=w)[0, 1])
        return min(1.0, max(0.0, shared / ((1.0 + self.labels / others) * spread)))

    @cached_property
    def value(self) -> float:
        """The mean of people's labels over all items, estimated; NaN without labels."""
        return self._mean(self.tuning)

    @property
    def error(self) -> float:
        """Its standard error."""
        return self._error(self.tuning)

    def bounds(self, confidence: float) -> tuple[float, float]:
        """Two-sided bounds. Infinite of fewer than three labels."""
        if self.labels < 3:
            return -math.inf, math.inf
        if self.clusters is not None:
            units = max(3, self._labelled_clusters)
            half = t_quantile((1.0 + confidence) / 2.0, units - 1) * math.sqrt((units - 1) / (units - 2)) * self.error
            return self._clipped(self.value - half, self.value + half)
        (below, above), wide = self._parts(confidence), math.sqrt((self.labels - 1) / (self.labels - 2))
        return self._clipped(self.value - math.hypot(below[0], wide * below[1]), self.value + math.hypot(above[0], wide * above[1]))

    def interval(self, confidence: float) -> Interval:
        """The value with two-sided bounds."""
        low, high = self.bounds(confidence)
        return Interval(value=self.value, low=low, high=high)

    def one_sided(self, confidence: float) -> tuple[float, float]:
        """The lower and the upper bound, each at this confidence; on a bounded scale no rare loss among the labels is taken for none (Gaffke)."""
        low, high = self.bounds(2.0 * confidence - 1.0)
        if self.clusters is not None or self.labels < 3 or not all(map(math.isfinite, self.scale)):
            return low, high
        (below, above), tuning = self._parts(2.0 * confidence - 1.0), self.tuning
        rest, (least, most) = self._rectifiers(tuning)
        units = Units(totals=rest * self.weights[self.labelled], sizes=self.weights[self.labelled])
        down = max(below[1], units.mean - bounded_mean.lower(units, least, confidence))
        up = max(above[1], bounded_mean.upper(units, most, confidence) - units.mean)
        return self._clipped(min(low, self.value - math.hypot(below[0], down)), max(high, self.value + math.hypot(above[0], up)))

    @property
    def correlation(self) -> float:
        """Of people and judge on labelled items; 0 where either never changes."""
        return _correlation(self.gold[self.labelled], self.judge[self.labelled])

    @property
    def spread(self) -> float:
        """Standard deviation of people's labels; NaN of fewer than two."""
        return float(np.std(self.gold[self.labelled], ddof=1)) if self.labels > 1 else math.nan

    def worth(self, confidence: float) -> Interval:
        """How many further labels of people the judge is worth; no upper bound where fewer than `FEW` labels, or judgements, differ from the others."""
        others, n = len(self.judge) - self.labels, self.labels
        share = others / max(1, n + others)
        r = min(MOST_CORRELATED, max(0.0, self.correlation))
        y, f = self.gold[self.labelled], self.judge[self.labelled]
        if others and min(_differing(y), _differing(f)) < FEW:
            return Interval(value=_worth(r, share, n), low=0.0, high=math.inf)
        member = item_means.members(len(self.judge), self.clusters)[self.labelled]
        low, high = _correlation_bounds(y, f, member, confidence) if others else (0.0, 0.0)
        return Interval(value=_worth(r, share, n), low=_worth(max(0.0, low), share, n), high=_worth(max(0.0, high), share, n))

    def _mean(self, tuning: float) -> float:
        at, w = self.labelled, self.weights
        if not at.any():
            return math.nan
        rectified = float(np.average(self.gold[at] - tuning * self.judge[at], weights=w[at]))
        return rectified + (tuning * float(np.average(self.judge[~at], weights=w[~at])) if tuning else 0.0)

    def _error(self, tuning: float) -> float:
        """Cluster-robust, of single items where there are no clusters."""
        at, w = self.labelled, self.weights
        pulls = np.zeros(len(self.judge))
        rest = self.gold[at] - tuning * self.judge[at]
        pulls[at] = w[at] * (rest - np.average(rest, weights=w[at])) / w[at].sum()
        if tuning:
            pulls[~at] = tuning * w[~at] * (self.judge[~at] - np.average(self.judge[~at], weights=w[~at])) / w[~at].sum()
        member = item_means.members(len(self.judge), self.clusters)
        sums = np.bincount(member, weights=pulls)
        units = len(sums) if self.clusters is None else self._labelled_clusters
        return math.sqrt(max(2, units) / (max(2, units) - 1) * float(sums @ sums))

    @property
    def _labelled_clusters(self) -> int:
        return len(np.unique(item_means.members(len(self.judge), self.clusters)[self.labelled]))

    def _parts(self, confidence: float) -> tuple[tuple[float, float], tuple[float, float]]:
        """How far each part reaches down, and up: the judge's over the other items, the rectifier's over labelled ones."""
        at, (low, high), tuning = self.labelled, self.scale, self.tuning
        rest, widened = self._rectifiers(tuning)
        gold = item_means.of_items(rest, self.weights[at], None, widened, confidence)
        if not tuning:
            return (0.0, gold.value - gold.low), (0.0, gold.high - gold.value)
        judge = item_means.of_items(tuning * self.judge[~at], self.weights[~at], None, (tuning * low, tuning * high), confidence)
        return (judge.value - judge.low, gold.value - gold.low), (judge.high - judge.value, gold.high - gold.value)

    def _rectifiers(self, tuning: float) -> tuple[Array, tuple[float, float]]:
        """Labels less what the judge says of them, and the scale of that."""
        (low, high), at = self.scale, self.labelled
        return self.gold[at] - tuning * self.judge[at], (low - tuning * high, high - tuning * low) if tuning else (low, high)

    def _clipped(self, low: float, high: float) -> tuple[float, float]:
        least, most = self.scale
        return min(self.value, max(least, low)), max(self.value, min(most, high))


def labels_for(gap: float, spread: float, correlation: float, items: int, confidence: float, power: float) -> int | None:
    """How many of `items` people have to label so that one-sided bounds keep off a limit `gap` away; None if all of them do not suffice."""
    if not gap > 0.0 or not spread > 0.0 or items < 4:
        return None
    reach = t_quantile(confidence, math.inf) + t_quantile(power, math.inf)
    r = min(MOST_CORRELATED, max(0.0, correlation))

    def enough(labels: int) -> bool:
        variance = spread**2 / labels * (1.0 - r * r * (1.0 - labels / items))
        return reach * math.sqrt(variance) <= gap

    return smallest(4, enough) if enough(items) else None


def _differing(values: Array) -> int:
    """How many are not the most common one."""
    return len(values) - int(np.unique(values, return_counts=True)[1].max()) if len(values) else 0


def _worth(correlation: float, share: float, labels: int) -> float:
    return labels * (1.0 / (1.0 - correlation**2 * share) - 1.0)


def _correlation(y: Array, f: Array) -> float:
    if len(y) < 2 or not np.ptp(y) > 0.0 or not np.ptp(f) > 0.0:
        return 0.0
    return float(np.corrcoef(_from_0_to_1(y), _from_0_to_1(f))[0, 1])


def _from_0_to_1(values: Array) -> Array:
    """Scaled, so that the squares of tiny values do not vanish; some differ."""
    return np.asarray((values - values.min()) / np.ptp(values))


def _correlation_bounds(y: Array, f: Array, member: NDArray[np.intp], confidence: float) -> tuple[float, float]:
    """Bounds of the correlation of values that differ: jackknife of atanh over the units, Student's t."""
    y, f = _from_0_to_1(y), _from_0_to_1(f)
    _, unit = np.unique(member, return_inverse=True)
    units = int(unit.max()) + 1
    columns = np.stack([np.ones_like(y), y, f, y * y, f * f, y * f])
    per_unit = np.stack([np.bincount(unit, weights=column, minlength=units) for column in columns])
    count, sy, sf, syy, sff, syf = columns.sum(axis=1)[:, None] - per_unit
    with np.errstate(invalid="ignore", divide="ignore"):
        left = (syf - sy * sf / count) / np.sqrt((syy - sy * sy / count) * (sff - sf * sf / count))
    left = np.arctanh(np.clip(np.where(np.isfinite(left), left, 0.0), -MOST_CORRELATED, MOST_CORRELATED))
    whole = math.atanh(min(MOST_CORRELATED, max(-MOST_CORRELATED, _correlation(y, f))))
    if units < 3:
        return -1.0, 1.0
    error = math.sqrt((units - 1) / units * float(np.sum((left - left.mean()) ** 2)))
    half = t_quantile((1.0 + confidence) / 2.0, units - 1) * error
    return math.tanh(whole - half), math.tanh(whole + half)
