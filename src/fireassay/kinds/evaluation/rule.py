"""When is one score of one task held, over items that two sides answered?

Non-inferiority of the paired items (`fireassay.stats.comparing.noninferiority`), with whole clusters as units and repetitions averaged
first; of a score that is no mean of item scores, the items' pulls on it (`linearised`).  The items are the sample: the bounds say nothing of another start
of the engine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fireassay.estimates.estimate import Absent
from fireassay.frames.evaluation.item_scores import Paired
from fireassay.frames.record_data import RecordData
from fireassay.spec.experiment import Quality
from fireassay.stats.comparing import noninferiority
from fireassay.stats.comparing.linearised import Sides, of_sides
from fireassay.stats.comparing.noninferiority import Decision, Launches

Array = NDArray[np.float64]
MIN_CLUSTERS: Final = 10  # fewer give no reliable bound
NO_LAUNCHES: Final = Launches(count=noninferiority.MIN_LAUNCHES, half=0.0, error=0.0, method="the items of one engine")


@dataclass(frozen=True, kw_only=True)
class Rule:
    """When quality counts as held."""

    margin: float
    confidence: float  # one-sided
    largest_change: float | None = None  # of one item; None: the scale of the score
    seed: int = 0  # of negative controls


def rule_of(measured: RecordData, quality: Quality, confidence: float) -> Rule:
    """The rule that was fixed before anything was asked."""
    return Rule(margin=quality.margin, confidence=confidence, largest_change=quality.largest_change, seed=measured.experiment.launches.seed)


def changes(pairs: Paired) -> Array:
    """Score minus that of the reference, of each item; better is positive."""
    sign = 1.0 if pairs.reference.metric.better == "higher" else -1.0
    if not pairs.reference.items:
        return np.empty(0)
    before, after = (side.metric.item_scores(side.rows) for side in (pairs.reference, pairs.candidate))
    return np.asarray(sign * (after - before))


def decided(pairs: Paired, changes: Array, rule: Rule) -> Decision | Absent:
    """The decision over items of which each changed by `changes` (shape [items], higher is better)."""
    reference, labels = pairs.reference, pairs.reference.labels
    if len(changes) < 2:
        return Absent(reason="insufficient", detail="fewer than two items were scored on both sides")
    clusters = len({label for label in labels if label is not None}) if labels is not None else None
    if clusters is not None and clusters < MIN_CLUSTERS and None not in (labels or ()):
        return Absent(reason="insufficient", detail=f"{clusters} clusters decide nothing; at least {MIN_CLUSTERS} are needed")
    if reference.metric.corpus:
        return _linearised(pairs, rule)
    reach = rule.largest_change or _reach(pairs, changes)
    fixed = max(reference.repetitions, pairs.candidate.repetitions) == 1
    of_items = noninferiority.of_items(changes, rule.confidence, reach, labels, fixed=fixed, weights=reference.weights)
    return noninferiority.decision(of_items, NO_LAUNCHES, rule.margin, rule.confidence)


def _reach(pairs: Paired, changes: Array) -> float:
    """The most that one item's score may change; of an unknown scale as far as the tail of the changes lets expect."""
    low, high = pairs.reference.metric.scale
    if np.isfinite(high - low):
        return high - low
    before = pairs.reference.metric.item_scores(pairs.reference.rows)
    return noninferiority.largest_change(before[None, :], (before + changes)[None, :], pairs.reference.labels)


def _linearised(pairs: Paired, rule: Rule) -> Decision | Absent:
    """For scores that are no plain mean."""
    metric, sign = pairs.reference.metric, 1.0 if pairs.reference.metric.better == "higher" else -1.0
    sides = Sides(
        score=lambda rows, weights: sign * metric.weighted(rows, weights),
        worst=metric.worst,
        reference=pairs.reference.rows,
        candidate=pairs.candidate.rows,
        weights=pairs.reference.weights,
        clusters=pairs.reference.labels,
    )
    found = of_sides(sides, rule.confidence)
    if isinstance(found, str):
        return Absent(reason="insufficient", detail=found)
    return noninferiority.decision(found, NO_LAUNCHES, rule.margin, rule.confidence)
