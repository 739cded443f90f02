"""Does a score survive small changes of the question?  The worst score over an item and its changed variants, as HELM's robustness.

Averaged over the items of which every variant was scored; subgroups tell what each change costs by itself.
Cannot tell: changes of the meaning; scores that are no mean over items, or of which less is better.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import count
from fireassay.frames.evaluation.item_scores import ItemScores, deciding, identity, item_scores
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.metrics import SCORED
from fireassay.metrics.metric import Metric, each
from fireassay.stats.intervals.item_means import of_items
from fireassay.units import SCORE

RANK: Final = 2060
NAME: Final = "robustness"
CHANGES: Final = "perturbations"  # the option of a task


def of_record(measured: RecordData) -> Mapping[str, Metric]:
    """The metric, if the items of some task were also asked with changes."""
    if not _changes(measured):
        return {}
    metric = SCORED(
        name=NAME,
        title="Worst score over changed questions",
        better="higher",
        formula="mean over items of the lowest score of the item and its variants",
        compute=each(_value),
        question="Does an answer stay right if the question is written otherwise?",
        caveat="More changes make it lower: compare records with the same ones.",
        rank=RANK,
    )
    return {NAME: metric}


def _changes(measured: RecordData) -> Mapping[str, tuple[str, ...]]:
    """The changes of each task that was asked with any: "typos@1"."""
    asked = {task: str((facts.get("options") or {}).get(CHANGES) or "") for task, facts in identity(measured).items()}
    return {task: tuple(words.split(",")) for task, words in asked.items() if words}


def _value(measured: RecordData, configuration: str) -> Value:
    found = [item_scores(measured, configuration, task, deciding(measured, task)) for task in _changes(measured)]
    if any(scores.metric.corpus or scores.metric.better != "higher" for scores in found):
        return Absent(reason="undefined", detail="the deciding score is no mean over items of which more is better")
    worst = [one for scores, changes in zip(found, _changes(measured).values(), strict=True) for one in _worst(scores, changes)]
    if len(worst) < 2:
        return Absent(reason="insufficient", detail="fewer than two items were scored with all of their changes")
    labels = [one.cluster for one in worst]
    alone = all(label is None for label in labels)
    values = np.array([one.score for one in worst])
    interval = of_items(values, np.ones(len(worst)), None if alone else labels, found[0].metric.scale, measured.confidence)
    return Estimate.of(
        interval,
        unit=SCORE,
        confidence=measured.confidence,
        n_launches=1,
        n_trials=len(worst),
        method=f"mean over {count(len(worst), 'items')} of the worst score of each with its variants",
        signature=f"{NAME}|agg:mean over items of the worst variant|items:{len(worst)}|v:1",
    )


@dataclass(frozen=True, kw_only=True)
class Worst:
    """The worst score of an item and its variants."""

    score: float
    cluster: str | None  # None: none but the item's own, which holds its variants


def _worst(scores: ItemScores, changes: tuple[str, ...]) -> Iterator[Worst]:
    """Of each item that was scored in all variants."""
    names = {label.partition("@")[0] for label in changes}
    of_item: dict[str, list[float]] = defaultdict(list)
    for item, score in zip(scores.items, scores.metric.item_scores(scores.rows).tolist(), strict=True):
        original, _, change = item.rpartition("~")
        of_item[original if change in names else item].append(score)
    cluster = dict(zip(scores.items, scores.clusters, strict=True))
    for item, values in of_item.items():
        if len(values) == 1 + len(names):
            yield Worst(score=min(values), cluster=None if cluster[item] == item else cluster[item])
