"""Was quality held, item by item?

Each task decides by its first score: non-inferiority of the paired items, with whole clusters as units and repetitions averaged first
(`fireassay.stats.comparing.noninferiority`).  All tasks must hold (an intersection-union test needs no correction); one that is degraded
decides.  The items are the sample: the bounds say nothing of another start of the engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from fireassay.estimates.estimate import Absent
from fireassay.frames.evaluation.item_scores import Paired, deciding, paired, tasks
from fireassay.frames.record_data import RecordData
from fireassay.spec.experiment import Quality
from fireassay.stats.comparing import noninferiority
from fireassay.stats.comparing.noninferiority import Decision, Launches

FEWEST_CLUSTERS: Final = 10  # fewer give no reliable bound
NO_LAUNCHES: Final = Launches(count=noninferiority.LEAST_LAUNCHES, half=0.0, error=0.0, method="the items of one engine")


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
    return measured.once(f"held {configuration}", lambda data: tuple(_all(data, quality, configuration)))


def _all(measured: RecordData, quality: Quality, configuration: str) -> Iterator[Held]:
    for task in tasks(measured):
        metric = deciding(measured, task)
        if not metric:
            continue
        pairs = paired(measured, configuration, task, metric)
        if pairs.reference.items or pairs.candidate.items or pairs.left:
            yield _one(task, metric, pairs, quality, measured.confidence)


def _one(task: str, metric: str, pairs: Paired, quality: Quality, confidence: float) -> Held:
    sign = 1.0 if pairs.reference.metric.better == "higher" else -1.0
    items = len(pairs.reference.items)
    scores = [side.metric.item_scores(side.rows) if items else np.empty(0) for side in (pairs.reference, pairs.candidate)]
    changes = sign * (scores[1] - scores[0])
    return Held(
        task=task,
        metric=metric,
        decision=_decided(pairs, changes, quality, confidence),
        better=int((changes > 0.0).sum()),
        worse=int((changes < 0.0).sum()),
        items=items,
        left=pairs.left,
    )


def _decided(pairs: Paired, changes: np.ndarray, quality: Quality, confidence: float) -> Decision | Absent:
    reference, labels = pairs.reference, pairs.reference.labels
    if len(changes) < 2:
        return Absent(reason="insufficient", detail="fewer than two items were scored on both sides")
    if reference.metric.corpus:
        return Absent(reason="not_measured", detail="the bounds of a difference of this score are not computed yet")
    if not bool(np.all(reference.weights == reference.weights[0])):
        return Absent(reason="refused", detail="items with weights of their own have no bound yet; leave --weight out")
    clusters = len({label for label in labels if label is not None}) if labels is not None else None
    if clusters is not None and clusters < FEWEST_CLUSTERS and None not in (labels or ()):
        return Absent(reason="insufficient", detail=f"{clusters} clusters decide nothing; at least {FEWEST_CLUSTERS} are needed")
    low, high = reference.metric.scale
    reach = quality.largest_change or (high - low if np.isfinite(high - low) else float(np.ptp(changes)) or 1.0)
    fixed = max(reference.repetitions, pairs.candidate.repetitions) == 1
    of_items = noninferiority.of_items(changes, confidence, reach, labels, fixed=fixed)
    return noninferiority.decision(of_items, NO_LAUNCHES, quality.margin, confidence)
