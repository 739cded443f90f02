"""What is a judged score worth, with labels of people for some of its items?

A side's mean and the difference of two sides, paired by item, are prediction-powered (`fireassay.stats.people.prediction_powered`): the judge on all items,
corrected by people less judge on labelled ones.  Without enough labels a mean is the judge's alone, as its method says, and a difference is decided by the
judge alone, which the audit `judged_without_gold` makes INVALID where a margin was to be held.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.estimates.format import count, given
from fireassay.frames.evaluation.item_scores import ItemScores, Paired
from fireassay.stats.comparing import noninferiority
from fireassay.stats.comparing.noninferiority import POWER, Decision, Items, Launches
from fireassay.stats.intervals.intervals import Interval
from fireassay.stats.people.prediction_powered import METHOD, Judged, labels_for
from fireassay.units import SCORE

Array = NDArray[np.float64]
MIN_LABELS: Final = 20  # items with labels at both sides; fewer say nothing reliable of a judge
MIN_CLUSTERS: Final = 10  # with labels
NO_LAUNCHES: Final = Launches(count=noninferiority.MIN_LAUNCHES, half=0.0, error=0.0, method="these labels")


def labelled(items: Sequence[str], gold: Mapping[str, float]) -> Array:
    """The labels of items; NaN where there is none."""
    return np.array([gold.get(item, math.nan) for item in items], dtype=np.float64)


def of_side(scores: ItemScores) -> Judged | None:
    """A side's scores beside people's; None if no model judged, or too few items are labelled."""
    if scores.gold is None or not scores.items:
        return None
    found = Judged(
        judge=scores.rows[:, 0],
        gold=labelled(scores.items, scores.gold),
        weights=scores.weights,
        clusters=scores.labels,
        scale=scores.metric.scale,
    )
    return found if _enough(found) else None


def of_pairs(pairs: Paired, changes: Array) -> Judged | None:
    """The changes that the judge sees beside those that people see, higher is better; None if no model judged, or too few items are labelled."""
    found = beside(pairs, changes)
    return found if found is not None and _enough(found) else None


def beside(pairs: Paired, changes: Array) -> Judged | None:
    """The same, however few items are labelled."""
    before, after = pairs.reference, pairs.candidate
    if before.gold is None or after.gold is None or not before.items:
        return None
    low, high = before.metric.scale
    scale = (low - 0.5, high - 0.5) if _is_compared_with(before) else (low - high, high - low)
    sign = 1.0 if before.metric.better == "higher" else -1.0
    gold = sign * (labelled(before.items, after.gold) - labelled(before.items, before.gold))
    return Judged(judge=changes, gold=gold, weights=before.weights, clusters=before.labels, scale=scale)


def _is_compared_with(scores: ItemScores) -> bool:
    """True of the first side of pairs, whose score is 0.5 by definition."""
    return bool(scores.items) and scores.gold is not None and set(scores.gold.values()) == {0.5} and bool((scores.rows[:, 0] == 0.5).all())


def _enough(found: Judged) -> bool:
    if found.labels < MIN_LABELS:
        return False
    if found.clusters is None:
        return True
    with_labels = {label if label is not None else index for index, label in enumerate(found.clusters) if found.labelled[index]}
    return len(with_labels) >= MIN_CLUSTERS


def _lacking(labels: int, every: int) -> Absent | None:
    """Of a subgroup with too few of the record's labels: the judge alone would say of it what people correct everywhere else."""
    if labels >= every or every < MIN_LABELS:
        return None
    return Absent(reason="insufficient", detail=f"{count(labels, 'labels')} of people in it; at least {MIN_LABELS} are needed")


def mean_of(scores: ItemScores, confidence: float) -> Estimate | Absent | None:
    """A side's mean with its interval; None if no model judged, or labels are too few everywhere."""
    found: Judged | None = None
    if _is_compared_with(scores):
        interval, method = Interval(value=0.5, low=0.5, high=0.5), "what the others are compared with"
    elif (found := of_side(scores)) is None:
        gold = scores.gold or {}
        return _lacking(sum(item in gold for item in scores.items), len(gold))
    else:
        interval = found.interval(confidence)
        people = f"{found.labels:,} of them labelled by people: {METHOD}, judge alone {given(found.judge_alone, 3)}"
        method = f"mean over {count(len(scores.items), 'items')}, {people}"
    return Estimate.of(
        interval,
        unit=SCORE,
        confidence=confidence,
        n_launches=scores.launches,
        n_trials=len(scores.items),
        method=method,
        signature=f"{scores.metric.name}|agg:mean over items|items:{len(scores.items)}|labels:{0 if found is None else found.labels}|ci:ppi++|v:1",
    )


def decided(pairs: Paired, changes: Array, margin: float | None, confidence: float) -> Decision | Absent | None:
    """The decision over items of which each changed by `changes`, by judge and people; None if no model judged, or labels are too few everywhere."""
    found = of_pairs(pairs, changes)
    if found is None:
        few = beside(pairs, changes)
        return None if few is None else _lacking(few.labels, len(set(pairs.reference.gold or ()) & set(pairs.candidate.gold or ())))
    low, high = found.one_sided(confidence)
    labels = found.clusters
    items = Items(
        mean=found.value,
        low=low,
        high=high,
        error=found.error,
        count=len(pairs.reference.items),
        units=len(pairs.reference.items) if labels is None else len({one for one in labels if one is not None}),
        reach=0.0,
        alone=sum(label is None for label in labels) if labels is not None else len(pairs.reference.items),
        method=METHOD,
    )
    decision = noninferiority.decision(items, NO_LAUNCHES, margin, confidence)
    return replace(decision, items_needed=None, items_as_seen=None, method=f"{METHOD}, {count(found.labels, 'labels')}")


def more_labels(found: Judged, margin: float, confidence: float) -> int | None:
    """How many labels in all would decide, if the change is the one that was seen; None if all items do not suffice."""
    gap = abs(found.value + margin)
    needed = labels_for(gap, found.spread, found.correlation, len(found.judge), confidence, POWER)
    return None if needed is None else max(needed, found.labels + 1)


def first_labels(found: Judged, margin: float, confidence: float) -> int:
    """How many labels a judge without any should get: for no true change, as if it were worth nothing; at most all items."""
    spread = float(np.std(found.judge, ddof=1)) if len(found.judge) > 1 else 0.0
    needed = labels_for(margin, spread, 0.0, len(found.judge), confidence, POWER)
    return min(len(found.judge), max(MIN_LABELS, needed if needed is not None else len(found.judge)))


def worth_words(found: Judged, confidence: float) -> str:
    """ "with 100 labels of people the judge is worth 140 more [90, 210]"."""
    worth = found.worth(confidence)
    if not math.isfinite(worth.high):
        return f"{found.labels:,} labels of people do not say what the judge is worth"
    bounds = f"[{math.floor(worth.low):,}, {math.ceil(worth.high):,}]"
    return f"beside {found.labels:,} labels of people the judge is worth {round(worth.value):,} more {bounds}"


def spoiled(scores: ItemScores, lost: NDArray[np.bool_], worst: Array) -> ItemScores:
    """The scores with some items' made the worst, as people too would say."""
    rows = np.where(lost[:, None], worst, scores.rows)
    if scores.gold is None:
        return replace(scores, rows=rows)
    gone = {item: float(worst[at, 0]) for at, item in enumerate(scores.items) if lost[at] and item in scores.gold}
    return replace(scores, rows=rows, gold={**scores.gold, **gone})
