"""Was quality held, item by item?

Each task decides by its first score: non-inferiority of the paired items, with whole clusters as units and repetitions averaged first
(`fireassay.stats.comparing.noninferiority`).  All tasks must hold (an intersection-union test needs no correction); one that is degraded
decides.  The items are the sample: the bounds say nothing of another start of the engine.

Missing items may be those that would have changed the decision.  So it is made again with every missing item against it (held: the
candidate wrong and the reference right; degraded: the other way round).  A decision that does not survive is INCONCLUSIVE.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fireassay.estimates.estimate import Absent
from fireassay.estimates.format import count
from fireassay.frames.evaluation.item_scores import Paired, deciding, item_scores, matched, tasks
from fireassay.frames.evaluation.missing_items import missing, opposed
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.sensitivity import at_ceiling, at_floor, near_chance
from fireassay.spec.experiment import Quality
from fireassay.stats.comparing import noninferiority
from fireassay.stats.comparing.linearised import Sides, of_sides
from fireassay.stats.comparing.noninferiority import Decision, Launches

Array = NDArray[np.float64]
FEWEST_CLUSTERS: Final = 10  # fewer give no reliable bound
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
    title: str  # of the metric
    decision: Decision | Absent
    better: int  # items that score higher than at the base
    worse: int
    items: int
    left: int  # items that only one side scored
    missing: int = 0  # items that a side or both did not score, though it was asked or the other side scored them
    opposed: Decision | Absent | None = None  # with every missing item against the decision; None: nothing was missing or decided
    overturned: str = ""  # why it is undecided although the bounds alone would decide


@dataclass(frozen=True, kw_only=True)
class Rule:
    """When quality counts as held."""

    margin: float
    confidence: float  # one-sided
    largest_change: float | None = None  # of one item; None: the scale of the score


def held(measured: RecordData, configuration: str) -> tuple[Held, ...]:
    """The decision on each task; none without a margin, or for the base itself."""
    quality = measured.experiment.quality
    if quality is None or configuration == measured.base:
        return ()
    return measured.once(f"held {configuration}", lambda data: _within(data, quality, configuration))


def _within(measured: RecordData, quality: Quality, configuration: str) -> tuple[Held, ...]:
    before, after = (Side(measured=measured, configuration=name) for name in (measured.base, configuration))
    every = held_between(before, after, quality, measured.confidence)
    return tuple(_sensitive(measured, configuration, _robust(measured, configuration, found, quality)) for found in every)


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


def _sensitive(measured: RecordData, configuration: str, found: Held) -> Held:
    """Held only if these items could have shown a loss; a shown gain needs no such proof."""
    decision = found.decision
    if isinstance(decision, Absent) or decision.verdict != "HELD" or decision.low > 0.0:
        return found
    of_task = (measured, found.task, found.metric)
    why = at_floor(*of_task) or near_chance(*of_task) or at_ceiling(measured, configuration, found.task, found.metric)
    return found if why is None else replace(found, overturned=why, decision=_undecided(decision))


def _undecided(decision: Decision) -> Decision:
    """Its numbers without its verdict; more items of the same kind would not decide."""
    return replace(decision, verdict="INCONCLUSIVE", worse_within_margin=False, items_needed=None, launches_needed=None)


def _robust(measured: RecordData, configuration: str, found: Held, quality: Quality) -> Held:
    """The decision, if it survives its missing items."""
    lacking, decision = missing(measured, configuration, found.task, found.metric), found.decision
    if not lacking.count or isinstance(decision, Absent) or decision.verdict == "INCONCLUSIVE":
        return replace(found, missing=lacking.count)
    pairs = opposed(measured, configuration, found.task, found.metric, held=decision.verdict == "HELD")
    if pairs is None:
        return replace(found, missing=lacking.count, opposed=Absent(reason="undefined", detail=f"{found.title} has no worst score"))
    again = decided(pairs, _changes(pairs), rule_of(measured, quality, measured.confidence))
    if not isinstance(again, Absent) and again.verdict == decision.verdict:
        return replace(found, missing=lacking.count, opposed=again)
    lost = {"HELD": "held", "DEGRADED": "degraded"}[decision.verdict]
    why = f"{lost} only if the {count(lacking.count, 'missing items')} do not matter"
    return replace(found, missing=lacking.count, opposed=again, overturned=why, decision=_undecided(decision))


def _changes(pairs: Paired) -> np.ndarray:
    """Score minus that of the reference, of each item; better is positive."""
    sign = 1.0 if pairs.reference.metric.better == "higher" else -1.0
    if not pairs.reference.items:
        return np.empty(0)
    before, after = (side.metric.item_scores(side.rows) for side in (pairs.reference, pairs.candidate))
    return np.asarray(sign * (after - before))


def _one(measured: RecordData, task: str, metric: str, pairs: Paired, quality: Quality, confidence: float) -> Held:
    changes = _changes(pairs)
    return Held(
        task=task,
        metric=metric,
        title=pairs.reference.metric.title,
        decision=decided(pairs, changes, rule_of(measured, quality, confidence)),
        better=int((changes > 0.0).sum()),
        worse=int((changes < 0.0).sum()),
        items=len(changes),
        left=pairs.left,
    )


def rule_of(measured: RecordData, quality: Quality, confidence: float) -> Rule:
    """The rule that was fixed before anything was asked."""
    return Rule(margin=quality.margin, confidence=confidence, largest_change=quality.largest_change)


def decided(pairs: Paired, changes: Array, rule: Rule) -> Decision | Absent:
    """The decision over items of which each changed by `changes` (shape [items], higher is better)."""
    reference, labels = pairs.reference, pairs.reference.labels
    if len(changes) < 2:
        return Absent(reason="insufficient", detail="fewer than two items were scored on both sides")
    clusters = len({label for label in labels if label is not None}) if labels is not None else None
    if clusters is not None and clusters < FEWEST_CLUSTERS and None not in (labels or ()):
        return Absent(reason="insufficient", detail=f"{clusters} clusters decide nothing; at least {FEWEST_CLUSTERS} are needed")
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
