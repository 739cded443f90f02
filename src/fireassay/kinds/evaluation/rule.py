"""When is one score of one task held, over items that two sides answered?

Non-inferiority of the paired items (`fireassay.stats.comparing.noninferiority`), with whole clusters as units and repetitions averaged
first; a score that is no mean of item scores is resampled over items.  The items are the sample: the bounds say nothing of another start
of the engine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fireassay.estimates.estimate import Absent
from fireassay.frames.evaluation.item_scores import Paired
from fireassay.frames.record_data import RecordData
from fireassay.spec.experiment import Quality
from fireassay.stats.comparing import noninferiority
from fireassay.stats.comparing.noninferiority import Decision, Launches
from fireassay.stats.intervals.item_bootstrap import DRAWS, METHOD, Items, of_difference

Array = NDArray[np.float64]
FEWEST_CLUSTERS: Final = 10  # fewer give no reliable bound
NORMAL: Final = 2.4865  # z[.95] + z[.80], for the plan
NO_LAUNCHES: Final = Launches(count=noninferiority.LEAST_LAUNCHES, half=0.0, error=0.0, method="the items of one engine")


@dataclass(frozen=True, kw_only=True)
class Rule:
    """When quality counts as held."""

    margin: float
    confidence: float  # one-sided
    largest_change: float | None = None  # of one item; None: the scale of the score
    draws: int = DRAWS  # of items, for scores that are no mean
    seed: int = 0


def rule_of(measured: RecordData, quality: Quality, confidence: float) -> Rule:
    """The rule that was fixed before anything was asked."""
    evaluation = measured.experiment.evaluation
    assert evaluation is not None
    return Rule(
        margin=quality.margin,
        confidence=confidence,
        largest_change=quality.largest_change,
        draws=evaluation.resamples,
        seed=measured.experiment.launches.seed,
    )


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
    if clusters is not None and clusters < FEWEST_CLUSTERS and None not in (labels or ()):
        return Absent(reason="insufficient", detail=f"{clusters} clusters decide nothing; at least {FEWEST_CLUSTERS} are needed")
    if reference.metric.corpus:
        return _resampled(pairs, rule)
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


def _resampled(pairs: Paired, rule: Rule) -> Decision | Absent:
    """For scores that are no plain mean: both sides are scored on every draw of items; a one-sided bound is one of two at twice its error."""
    sides = (pairs.reference, pairs.candidate)
    before, after = (partial(side.metric.weighted, side.rows) for side in sides)
    items = Items(weights=sides[0].weights, clusters=sides[0].labels)
    found = of_difference(before, after, items, 2.0 * rule.confidence - 1.0, draws=rule.draws, seed=rule.seed)
    if found.reason:
        return Absent(reason="insufficient", detail=found.reason)
    sign = 1.0 if sides[0].metric.better == "higher" else -1.0
    estimate = sign * found.value
    low, high = min(sign * found.low, sign * found.high, estimate), max(sign * found.low, sign * found.high, estimate)
    wanted = math.ceil(len(sides[0].items) * (NORMAL * found.error / rule.margin) ** 2)
    labels = [label for label in sides[0].clusters if label is not None]
    return Decision(
        estimate=estimate,
        low=low,
        high=high,
        verdict="HELD" if low > -rule.margin else "DEGRADED" if high < -rule.margin else "INCONCLUSIVE",
        worse_within_margin=-rule.margin <= high < 0.0,
        items_needed=max(wanted, len(sides[0].items) + 1),
        launches_needed=None,
        smallest_supported_margin=NORMAL * found.error,
        method=METHOD,
        items=len(sides[0].items),
        clusters=len(set(labels)) if labels else None,
        alone=len(sides[0].items) - len(labels),
    )
