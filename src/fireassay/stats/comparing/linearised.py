"""How far did a score change that is no mean over items (BLEU, Matthews, a correlation)?

Each unit (a cluster, or an item on its own) gets its pull on the change D of the score: T_c = S_c D + (W - S_c) (D - D without c), S_c its
weight of all W (Tukey's pseudo-values, for units of unequal size; Miller, Biometrika 61, 1974).  They sum to W D, and for a mean they are the
units' own sums.  Their mean is bounded as that of any bounded values (`bounded_mean`), with one more unit of the largest size at the worst:
what the worst answer to an item would pull, if the score knows it, else an extrapolation of the tail.

A bootstrap of such a difference is too short where few items differ: of 500 items with 1 % other answers and 10 % in the positive class
it called a Matthews correlation held in 12 % of experiments that had lost the margin, and this bound in 2 % (decision 0062).

Cannot tell: a kind of item that makes up less than `RARE` of these; a loss so large that the score is no longer close to straight.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fireassay.stats.comparing.noninferiority import Items
from fireassay.stats.intervals import bounded_mean
from fireassay.stats.intervals.bounded_mean import Units
from fireassay.stats.intervals.item_means import Labels, leaving_out, members

Array = NDArray[np.float64]
RARE: Final = 0.01  # of the worst answers that many count as too unlikely to add: one sentence may be ten times as long as the others
ADDED: Final = 200  # items whose worst answers are tried
MAX_UNITS: Final = 2000  # items on their own are left out one by one up to here, and of more in groups of neighbours


@dataclass(frozen=True, kw_only=True)
class Sides:
    """One score on both sides: the rows of the same items, weighed."""

    score: Callable[[Array, Array], Array]  # (rows [items, statistics], weights [resamples, items]) -> [resamples], higher is better
    worst: Callable[[Array], Array] | None  # the rows of the worst answers to the items of such rows
    reference: Array  # [items, statistics]
    candidate: Array
    weights: Array
    clusters: Labels | None = None

    def changes(self, weights: Array) -> Array:
        """Candidate minus reference for each row of weights."""
        return self.score(self.candidate, weights) - self.score(self.reference, weights)


def of_sides(sides: Sides, confidence: float) -> Items | str:
    """One-sided bounds of the change; or why there are none."""
    value = float(sides.changes(sides.weights[None, :])[0])
    if math.isnan(value):
        return "the score is undefined for these items"
    member = members(len(sides.weights), sides.clusters)
    alone = len(member) if sides.clusters is None else sum(label is None for label in sides.clusters)
    largest = float(np.bincount(member, weights=sides.weights).max())
    units = replace(_pulls(sides, value, _grouped(member)), added=largest)
    if not np.isfinite(units.totals).all():
        return "the score is undefined without one of the items"
    worst, best = _ends(sides, value, units)
    if not math.isfinite(worst) or not math.isfinite(best):
        return "nothing says how much a worse answer would cost"
    count, off = len(units.sizes), units.totals - value * units.sizes
    return Items(
        mean=value,
        low=bounded_mean.lower(units, worst, confidence),
        high=bounded_mean.upper(units, best, confidence),
        error=math.sqrt(float(off @ off) * count / max(1, count - 1)) / float(units.sizes.sum()),
        count=len(member),
        units=int(member.max()) + 1,
        reach=max(value - worst, best - value),
        alone=alone,
        method="Gaffke's bound of pseudo-values",
    )


def _grouped(member: NDArray[np.intp]) -> NDArray[np.intp]:
    """Units as they are, or neighbours together where they are too many."""
    units = int(member.max()) + 1
    return member if units <= MAX_UNITS else member * MAX_UNITS // units


def _pulls(sides: Sides, value: float, member: NDArray[np.intp]) -> Units:
    """Of each unit; they sum to the change times all weight."""
    sizes = np.asarray(np.bincount(member, weights=sides.weights), dtype=np.float64)
    total = float(sizes.sum())
    pulls = (total - sizes) * (value - leaving_out(sides.changes, sides.weights, member))
    return Units(totals=sizes * (value - float(pulls.sum()) / total) + pulls, sizes=sizes)


def _ends(sides: Sides, value: float, units: Units) -> tuple[float, float]:
    """The least and the largest change that one more item may have."""
    seen = units.totals / units.sizes
    if sides.worst is None:
        off = seen - value
        reach = bounded_mean.extrapolated(off) if float(np.ptp(off)) > 0.0 else math.inf
        return value - reach, value + reach
    tried = np.unique(np.linspace(0, len(sides.weights) - 1, ADDED).astype(np.intp))
    lost = _with_one_more(sides, value, sides.reference[tried], sides.worst(sides.reference)[tried])
    won = _with_one_more(sides, value, sides.worst(sides.candidate)[tried], sides.candidate[tried])
    return min(float(seen.min()), _quantile(lost, RARE)), max(float(seen.max()), _quantile(won, 1.0 - RARE))


def _with_one_more(sides: Sides, value: float, reference: Array, candidate: Array) -> Array:
    """The change per unit of weight that an item with each of these rows would bring; NaN where the score is undefined."""
    more, weight = len(reference), float(sides.weights.mean())
    weights = np.hstack([np.tile(sides.weights, (more, 1)), weight * np.eye(more)])
    scores = [sides.score(np.concatenate(rows), weights) for rows in ((sides.candidate, candidate), (sides.reference, reference))]
    return np.asarray(value + (float(sides.weights.sum()) + weight) * (scores[0] - scores[1] - value) / weight)


def _quantile(values: Array, share: float) -> float:
    """One of the values, the outer of two; without any nothing is known, which is no bound at all."""
    known = values[~np.isnan(values)]
    if not len(known):
        return -math.inf if share < 0.5 else math.inf
    return float(np.quantile(known, share, method="lower" if share < 0.5 else "higher"))
