"""How far do means of ratings reach, with raters and items both as samples, and was quality held by them?

A side's mean, and the difference of two sides paired by item and rater, have crossed random effects (`fireassay.stats.people.crossed_raters`).
The difference of an item is that of its scores; its raters' deviations from it come from the ratings that one rater gave both sides.
One rater alone is no sample of raters: then items are what varies, as for any score, and the method says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.estimates.format import count
from fireassay.frames.evaluation.item_scores import ItemScores, Paired
from fireassay.frames.evaluation.rated import Cells, meeting
from fireassay.stats.comparing import noninferiority
from fireassay.stats.comparing.noninferiority import POWER, Decision, Items, Launches
from fireassay.stats.people.crossed_raters import METHOD, CrossedMean, Ratings, codes, crossed_mean, items_for
from fireassay.units import SCORE

Array = NDArray[np.float64]
MIN_RATERS: Final = 2  # that are a sample of raters
MIN_ITEMS: Final = 2
NO_LAUNCHES: Final = Launches(count=noninferiority.MIN_LAUNCHES, half=0.0, error=0.0, method="these raters")


def sampled(scores: ItemScores) -> Cells | None:
    """The ratings behind a score, if several raters gave them."""
    return scores.cells if scores.cells is not None and scores.cells.people >= MIN_RATERS else None


def mean_of(scores: ItemScores, confidence: float) -> Estimate | None:
    """A side's mean rating with its interval; None if one rater, or nobody, gave the scores."""
    cells = sampled(scores)
    if cells is None or len(scores.items) < MIN_ITEMS:
        return None
    place = {item: index for index, item in enumerate(scores.items)}
    kept = [index for index, item in enumerate(cells.items) if item in place]  # of a subgroup some
    at = np.array([place[cells.items[index]] for index in kept], dtype=np.intp)
    found = _mean(cells.values[kept], at, [cells.raters[index] for index in kept], scores)
    interval, (low, high) = found.interval(confidence), scores.metric.scale
    return Estimate(
        value=interval.value,
        low=max(low, interval.low),
        high=min(high, interval.high),
        unit=SCORE,
        confidence=confidence,
        n_launches=scores.launches,
        n_trials=len(scores.items),
        method=f"mean over {count(len(scores.items), 'items')} by {count(cells.people, 'raters')}: {METHOD}",
        signature=f"{scores.metric.name}|agg:mean over items|items:{len(scores.items)}|raters:{cells.people}|ratings:{len(cells.items)}|v:1",
    )


def _mean(values: Array, at: NDArray[np.intp], raters: Sequence[str], scores: ItemScores) -> CrossedMean:
    """Over values of the items at these places, each item with its own weight, whole clusters as units."""
    units = [index if label is None else (label,) for index, label in enumerate(scores.clusters)]
    weights = scores.weights[at] / np.bincount(at, minlength=len(scores.items))[at]
    return crossed_mean(Ratings(values=values, items=codes([units[index] for index in at]), raters=codes(raters), weights=weights))


def decided(pairs: Paired, changes: Array, margin: float | None, confidence: float) -> Decision | Absent | None:
    """The decision over items of which each changed by `changes`; None if no two raters gave the scores of both sides."""
    before, after = sampled(pairs.reference), sampled(pairs.candidate)
    if before is None or after is None:
        return None
    met = meeting(before, after)
    place = {item: index for index, item in enumerate(pairs.reference.items)}
    kept = [index for index, item in enumerate(met.items) if item in place]
    if not kept:
        return Absent(reason="insufficient", detail="no rater rated both sides of an item, so raters cannot be separated from sides")
    at = np.array([place[met.items[index]] for index in kept], dtype=np.intp)
    sign = 1.0 if pairs.reference.metric.better == "higher" else -1.0
    values, names = sign * met.values[kept], [met.raters[index] for index in kept]
    own = np.bincount(at, values, len(changes)) / np.maximum(1, np.bincount(at, minlength=len(changes)))
    values = values - own[at] + changes[at]
    alone = np.flatnonzero(np.bincount(at, minlength=len(changes)) == 0)  # rated at both sides, by nobody at both
    values, at = np.concatenate([values, changes[alone]]), np.concatenate([at, alone])
    found = _mean(values, at, (*names, *(names[:1] * len(alone))), pairs.reference)
    if not math.isfinite(found.error):
        return Absent(reason="insufficient", detail="ratings of one item decide nothing")
    return _decision(found, pairs, len({*names}), margin, confidence)


def _decision(found: CrossedMean, pairs: Paired, raters: int, margin: float | None, confidence: float) -> Decision:
    labels = pairs.reference.labels
    items = Items(
        mean=found.value,
        low=found.lower(confidence),
        high=found.upper(confidence),
        error=found.error,
        count=len(pairs.reference.items),
        units=found.items,
        reach=0.0,
        alone=sum(label is None for label in labels) if labels is not None else len(pairs.reference.items),
        method=f"{METHOD}, paired by item and rater, {count(raters, 'raters')},",
    )
    decision = noninferiority.decision(items, NO_LAUNCHES, margin, confidence)
    gap = 0.0 if margin is None else abs(found.value + margin)
    seen = items_for(found, gap, confidence, POWER) if margin is not None and gap > 0.0 else None
    return replace(decision, items_needed=None, items_as_seen=seen, method=f"{METHOD}, {count(raters, 'raters')}")
