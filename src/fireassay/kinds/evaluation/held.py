"""Was quality held, item by item?

Each task decides by its first score (`fireassay.kinds.evaluation.rule`).  All tasks must hold (an intersection-union test needs no
correction); one that is degraded decides.

Missing items may be those that would have changed the decision.  So it is made again with every missing item against it (held: the
candidate wrong and the reference right; degraded: the other way round).  A decision that does not survive is INCONCLUSIVE, and so is held
of items that could not have shown a loss (`fireassay.kinds.evaluation.sensitivity`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from fireassay.estimates.estimate import Absent
from fireassay.estimates.format import count
from fireassay.frames.evaluation.item_scores import Answers, Paired, deciding, item_scores, matched, tasks
from fireassay.frames.evaluation.missing_items import missing, opposed
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.rule import Rule, changes, decided, rule_of
from fireassay.kinds.evaluation.sensitivity import Control, at_ceiling, at_floor, chance_of, control, near_chance
from fireassay.spec.experiment import Quality
from fireassay.stats.comparing.noninferiority import Decision


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
    own: bool = False  # the references are the reference side's own answers
    control: Control | None = None  # whether a loss would have been seen; None: not held, or a gain

    @property
    def low(self) -> float:
        """The lower bound of the change; infinite without one."""
        return math.inf if isinstance(self.decision, Absent) else self.decision.low


def held(measured: RecordData, configuration: str) -> tuple[Held, ...]:
    """The decision on each task; none without a margin, or for the base itself."""
    quality = measured.experiment.quality
    if quality is None or configuration == measured.base:
        return ()
    sides = (measured, measured.base), (measured, configuration)
    return measured.once(f"held {configuration}", lambda data: held_between(*sides, quality, data.confidence))


def lowest(measured: RecordData, configuration: str) -> float:
    """The lowest bound of a configuration's changes; infinite without any."""
    return min((found.low for found in held(measured, configuration)), default=math.inf)


def held_between(before: Answers, after: Answers, quality: Quality, confidence: float) -> tuple[Held, ...]:
    """The decision on each task of the reference's record, for configurations of one record or of two."""
    return tuple(_all(before, after, quality, confidence))


def _all(before: Answers, after: Answers, quality: Quality, confidence: float) -> Iterator[Held]:
    rule = rule_of(before[0], quality, confidence)
    for task in tasks(before[0]):
        metric = deciding(before[0], task)
        if not metric:
            continue
        pairs = matched(*(item_scores(*side, task, metric) for side in (before, after)))
        if pairs.reference.items or pairs.candidate.items or pairs.left:
            found = _robust(before, after, _one(before[0], task, metric, pairs, rule), rule)
            yield _sensitive(before, found, pairs, rule)


def _sensitive(before: Answers, found: Held, pairs: Paired, rule: Rule) -> Held:
    """Held only if these items could have shown a loss; a shown gain needs no such proof."""
    decision, measured = found.decision, before[0]
    if isinstance(decision, Absent) or decision.verdict != "HELD" or decision.low > 0.0:
        return found
    scores = item_scores(*before, found.task, found.metric)
    why = at_floor(measured, found.task, scores) or near_chance(measured, found.task, scores) or at_ceiling(measured, pairs)
    made = None
    if why is None:
        made = control(pairs, rule, chance_of(measured, found.task, scores))
        why = made.why
    return replace(found, control=made, overturned=why, decision=_undecided(decision) if why else decision)


def _undecided(decision: Decision) -> Decision:
    """Its numbers without its verdict; more items of the same kind would not decide."""
    return replace(decision, verdict="INCONCLUSIVE", worse_within_margin=False, items_needed=None, launches_needed=None)


def _robust(before: Answers, after: Answers, found: Held, rule: Rule) -> Held:
    """The decision, if it survives its missing items."""
    lacking, decision = missing(before, after, found.task, found.metric), found.decision
    if not lacking.count or isinstance(decision, Absent) or decision.verdict == "INCONCLUSIVE":
        return replace(found, missing=lacking.count)
    pairs = opposed(before, after, found.task, found.metric, held=decision.verdict == "HELD")
    if pairs is None:
        return replace(found, missing=lacking.count, opposed=Absent(reason="undefined", detail=f"{found.title} has no worst score"))
    again = decided(pairs, changes(pairs), rule)
    if not isinstance(again, Absent) and again.verdict == decision.verdict:
        return replace(found, missing=lacking.count, opposed=again)
    lost = {"HELD": "held", "DEGRADED": "degraded"}[decision.verdict]
    why = f"{lost} only if the {count(lacking.count, 'missing items')} do not matter"
    return replace(found, missing=lacking.count, opposed=again, overturned=why, decision=_undecided(decision))


def _one(measured: RecordData, task: str, metric: str, pairs: Paired, rule: Rule) -> Held:
    changed = changes(pairs)
    return Held(
        task=task,
        metric=metric,
        title=pairs.reference.metric.title,
        decision=decided(pairs, changed, rule),
        better=int((changed > 0.0).sum()),
        worse=int((changed < 0.0).sum()),
        items=len(changed),
        left=pairs.left,
        own=measured.experiment.evaluation is not None and measured.experiment.evaluation.own_references,
    )
