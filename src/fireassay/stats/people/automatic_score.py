"""How well does an automatic score order what people rated?

Over pairs of sides on the same item, with people's mean ratings h and the score m (Deutsch, Foster & Freitag, EMNLP 2023, "Ties Matter"):

    acc_eq = (concordant + tied by both) / all pairs

where the score ties if it differs by at most epsilon, chosen to maximise acc_eq on the same pairs (their tie calibration): so it is slightly
optimistic.  Kendall's tau-b and tau-c, Spearman's and Pearson's correlation over all (item, side), and over the means of sides.
Intervals: delete-one jackknife over items, Student's t; of the means of sides none, since sides are few and no sample.
Cannot tell: how good the score is where people disagree: see `agreement`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from fireassay.stats.intervals.intervals import Interval, t_quantile
from fireassay.stats.people.crossed_raters import Codes

Array = NDArray[np.float64]
Correlation = Literal["kendall_b", "kendall_c", "spearman", "pearson"]
CORRELATIONS: Final[tuple[Correlation, ...]] = ("kendall_b", "kendall_c", "spearman", "pearson")
MAX_EXACT: Final = 400  # items that are left out one at a time; of more, groups of them


@dataclass(frozen=True, kw_only=True)
class Rated:
    """What people said and what the score said, each of shape [items x sides that were rated]."""

    people: Array
    score: Array  # higher is better
    items: Codes
    sides: Codes


def tie_accuracy(rated: Rated) -> tuple[float, float]:
    """acc_eq with calibrated ties, and epsilon; NaN of no pair."""
    gaps, truth = _pairs(rated)
    if not len(gaps):
        return math.nan, math.nan
    order = np.argsort(np.abs(gaps), kind="stable")
    sizes, right = np.abs(gaps)[order], (np.sign(gaps) == truth)[order]
    tied = truth[order] == 0
    # with epsilon = sizes[k] the first k + 1 pairs are ties of the score; before the first only what differs by nothing
    gained = np.cumsum(tied.astype(np.int64) - right)
    ends = np.flatnonzero(np.append(sizes[1:] > sizes[:-1], True))
    gains, epsilons = np.append(0, gained[ends]), np.append(0.0, sizes[ends])
    best = int(np.argmax(gains))  # of equal ones the first, the smallest epsilon
    return int(right.sum() + gains[best]) / len(gaps), float(epsilons[best])


def _pairs(rated: Rated) -> tuple[Array, Array]:
    """Of every two sides on one item: the score's difference, and the sign of the people's."""
    order = np.argsort(rated.items, kind="stable")
    people, score = rated.people[order], rated.score[order]
    _, begins, counts = np.unique(rated.items[order], return_index=True, return_counts=True)
    gaps, truth = [np.empty(0)], [np.empty(0)]
    for sides in np.unique(counts):  # items with as many sides at once
        a, b = (begins[counts == sides][:, None] + one[None, :] for one in np.triu_indices(int(sides), 1))
        gaps.append((score[a] - score[b]).ravel())
        truth.append(np.sign(people[a] - people[b]).ravel())
    return np.concatenate(gaps), np.concatenate(truth)


def correlation(people: Array, score: Array, which: Correlation) -> float:
    """Of two columns; NaN if one of them is constant or they are shorter than two."""
    if len(people) < 2 or np.ptp(people) == 0.0 or np.ptp(score) == 0.0:
        return math.nan
    from scipy import stats

    if which == "pearson":
        return float(np.corrcoef(people, score)[0, 1])
    if which == "spearman":
        return float(np.corrcoef(stats.rankdata(people), stats.rankdata(score))[0, 1])
    return float(stats.kendalltau(people, score, variant=which[-1]).statistic)


def of_sides(rated: Rated, which: Correlation) -> float:
    """The correlation of the sides' means; NaN of fewer than three sides, which always lie on a line."""
    counts = np.bincount(rated.sides)
    if len(counts) < 3:
        return math.nan
    return correlation(np.bincount(rated.sides, rated.people) / counts, np.bincount(rated.sides, rated.score) / counts, which)


def over_items(rated: Rated, value: Callable[[Rated], float], confidence: float) -> Interval:
    """A number over rated things with its interval by items; unbounded where it is undefined without some item."""
    whole, units = value(rated), rated.items % MAX_EXACT if len(np.unique(rated.items)) > MAX_EXACT else rated.items
    names = np.unique(units)
    left = np.array([value(_without(rated, units, name)) for name in names]) if len(names) > 1 else np.array([math.nan])
    if not np.isfinite(left).all() or not math.isfinite(whole):
        return Interval(value=whole, low=-math.inf, high=math.inf)
    n = len(left)
    half = t_quantile((1.0 + confidence) / 2.0, n - 1) * math.sqrt((n - 1) / n * float(((left - left.mean()) ** 2).sum()))
    return Interval(value=whole, low=max(-1.0, whole - half), high=min(1.0, whole + half))


def _without(rated: Rated, units: Codes, name: int) -> Rated:
    kept = units != name
    return Rated(people=rated.people[kept], score=rated.score[kept], items=rated.items[kept], sides=rated.sides[kept])
