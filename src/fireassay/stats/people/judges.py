"""How far does a judge follow people, and what does it follow instead?

    sensitivity   share of what people call good that the judge calls good
    specificity   share of the rest that the judge does not call good
    bias          mean of judge minus people
    length        least-squares slope of judge minus people on log2 of the length: points for each doubling; the interval is the jackknife over units
    position      of pairs asked in both orders (a + b) / 2 - 1/2, a and b the values of what was shown first: 0 without bias, 1/2 if the first always wins.
                  Which answer is better cancels, so no labels are needed (Wang et al., Large Language Models are not Fair Evaluators, ACL 2024)

Means and shares have the intervals of `item_means`, with whole clusters as units.
Cannot tell: whether people who labelled are right, and whether length goes with what is good in another way at items without labels.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from fireassay.stats.intervals.intervals import Interval, t_quantile
from fireassay.stats.intervals.item_means import Labels, members, of_items

Array = NDArray[np.float64]


def share_called_good(
    good: NDArray[np.bool_], judged: NDArray[np.bool_], weights: Array, clusters: Labels | None, confidence: float
) -> Interval | None:
    """Of what is `good`, the share that is `judged` so; None where less than two items are good."""
    if int(good.sum()) < 2:
        return None
    labels = None if clusters is None else [label for label, kept in zip(clusters, good, strict=True) if kept]
    return of_items(judged[good].astype(np.float64), weights[good], labels, (0.0, 1.0), confidence)


def slope(errors: Array, doublings: Array, clusters: Labels | None, confidence: float) -> Interval | None:
    """Points of error for each doubling of the length; None where lengths do not differ, or fewer than four units do."""
    member = members(len(errors), clusters) if len(errors) else np.empty(0, dtype=np.intp)
    units = int(member.max()) + 1 if len(errors) else 0
    if units < 4 or not float(np.ptp(doublings)) > 0.0:
        return None
    columns = np.stack([np.ones_like(errors), doublings, errors, doublings * doublings, doublings * errors])
    left = columns.sum(axis=1)[:, None] - np.stack([np.bincount(member, weights=column, minlength=units) for column in columns])
    value, without = float(_slopes(columns.sum(axis=1)[:, None])[0]), _slopes(left)
    if not np.isfinite(without).all():
        return None
    half = t_quantile((1.0 + confidence) / 2.0, units - 2) * math.sqrt((units - 1) / units * float(np.sum((without - without.mean()) ** 2)))
    return Interval(value=value, low=value - half, high=value + half)


def _slopes(sums: Array) -> Array:
    count, x, e, xx, xe = sums
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((xe - x * e / count) / (xx - x * x / count))
