"""Was quality held, item by item?

Each task decides by its first score: non-inferiority of the paired items, with whole clusters as units and repetitions averaged first
(`fireassay.stats.comparing.noninferiority`).  All tasks must hold (an intersection-union test needs no correction); one that is degraded
decides.  The items are the sample: the bounds say nothing of another start of the engine.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from fireassay.estimates.estimate import Absent
from fireassay.frames.evaluation.item_scores import Paired, deciding, item_scores, matched, tasks
from fireassay.frames.record_data import RecordData
from fireassay.spec.experiment import Quality
from fireassay.stats.comparing import noninferiority
from fireassay.stats.comparing.noninferiority import Decision, Launches
from fireassay.stats.intervals.item_bootstrap import METHOD, Items, of_difference

FEWEST_CLUSTERS: Final = 10  # fewer give no reliable bound
NORMAL: Final = 2.4865  # z[.95] + z[.80], for the plan
NO_LAUNCHES: Final = Launches(count=noninferiority.LEAST_LAUNCHES, half=0.0, error=0.0, method="the items of one engine")


@dataclass(frozen=True, kw_only=True)
class Side:
    """The answers of one configuration of a record."""

    measured: RecordData
    configuration: str


@dataclass(frozen=True, kw_only=True)
class Held:
    """The decision on one task at one configuration, and the items that changed."""

    task: str
    metric: str
    decision: Decision | Absent
    better: int  # items that score higher than at the base
    worse: int
    items: int
    left: int  # items that only one side scored


def held(measured: RecordData, configuration: str) -> tuple[Held, ...]:
    """The decision on each task; none without a margin, or for the base itself."""
    quality = measured.experiment.quality
    if quality is None or configuration == measured.base:
        return ()
    return measured.once(f"held {configuration}", lambda data: _within(data, quality, configuration))


def _within(measured: RecordData, quality: Quality, configuration: str) -> tuple[Held, ...]:
    before, after = (Side(measured=measured, configuration=name) for name in (measured.base, configuration))
    return held_between(before, after, quality, measured.confidence)


def held_between(before: Side, after: Side, quality: Quality, confidence: float) -> tuple[Held, ...]:
    """The decision on each task of the reference's record, for configurations of one record or of two."""
    return tuple(_all(before, after, quality, confidence))


def _all(before: Side, after: Side, quality: Quality, confidence: float) -> Iterator[Held]:
    for task in tasks(before.measured):
        metric = deciding(before.measured, task)
        if not metric:
            continue
        pairs = matched(*(item_scores(side.measured, side.configuration, task, metric) for side in (before, after)))
        if pairs.reference.items or pairs.candidate.items or pairs.left:
            yield _one(before.measured, task, metric, pairs, quality, confidence)


def _one(measured: RecordData, task: str, metric: str, pairs: Paired, quality: Quality, confidence: float) -> Held:
    sign = 1.0 if pairs.reference.metric.better == "higher" else -1.0
    items = len(pairs.reference.items)
    scores = [side.metric.item_scores(side.rows) if items else np.empty(0) for side in (pairs.reference, pairs.candidate)]
    changes = sign * (scores[1] - scores[0])
    return Held(
        task=task,
        metric=metric,
        decision=_decided(measured, pairs, changes, quality, confidence),
        better=int((changes > 0.0).sum()),
        worse=int((changes < 0.0).sum()),
        items=items,
        left=pairs.left,
    )


def _decided(measured: RecordData, pairs: Paired, changes: np.ndarray, quality: Quality, confidence: float) -> Decision | Absent:
    reference, labels = pairs.reference, pairs.reference.labels
    if len(changes) < 2:
        return Absent(reason="insufficient", detail="fewer than two items were scored on both sides")
    clusters = len({label for label in labels if label is not None}) if labels is not None else None
    if clusters is not None and clusters < FEWEST_CLUSTERS and None not in (labels or ()):
        return Absent(reason="insufficient", detail=f"{clusters} clusters decide nothing; at least {FEWEST_CLUSTERS} are needed")
    if reference.metric.corpus or not bool(np.all(reference.weights == reference.weights[0])):
        return _resampled(measured, pairs, quality, confidence)
    low, high = reference.metric.scale
    reach = quality.largest_change or (high - low if np.isfinite(high - low) else float(np.ptp(changes)) or 1.0)
    fixed = max(reference.repetitions, pairs.candidate.repetitions) == 1
    of_items = noninferiority.of_items(changes, confidence, reach, labels, fixed=fixed)
    return noninferiority.decision(of_items, NO_LAUNCHES, quality.margin, confidence)


def _resampled(measured: RecordData, pairs: Paired, quality: Quality, sure: float) -> Decision | Absent:
    """For scores that are no plain mean: both sides are scored on every draw of items; a one-sided bound is one of two at twice its error."""
    evaluation, sides = measured.experiment.evaluation, (pairs.reference, pairs.candidate)
    assert evaluation is not None
    before, after = (partial(side.metric.weighted, side.rows) for side in sides)
    items = Items(weights=sides[0].weights, clusters=sides[0].labels)
    confidence, seed = 2.0 * sure - 1.0, measured.experiment.launches.seed
    found = of_difference(before, after, items, confidence, draws=evaluation.resamples, seed=seed)
    if found.reason:
        return Absent(reason="insufficient", detail=found.reason)
    sign = 1.0 if sides[0].metric.better == "higher" else -1.0
    low, high = sorted((sign * found.low, sign * found.high))
    wanted = math.ceil(len(sides[0].items) * (NORMAL * found.error / quality.margin) ** 2)
    labels = [label for label in sides[0].clusters if label is not None]
    return Decision(
        estimate=sign * found.value,
        low=low,
        high=high,
        verdict="HELD" if low > -quality.margin else "DEGRADED" if high < -quality.margin else "INCONCLUSIVE",
        worse_within_margin=high < 0.0 and low > -quality.margin,
        items_needed=max(wanted, len(sides[0].items) + 1),
        launches_needed=None,
        smallest_supported_margin=NORMAL * found.error,
        method=METHOD,
        items=len(sides[0].items),
        clusters=len(set(labels)) if labels else None,
        alone=len(sides[0].items) - len(labels),
    )
