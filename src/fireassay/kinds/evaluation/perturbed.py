"""Does a score survive small changes of the question?

Robustness: the worst score over an item and its changed variants, as HELM's, averaged over the items of which every variant was scored.
Of each change by itself: the mean over items of the score with the change minus that of the item as it is, paired by item.
Cannot tell: changes of the meaning; scores that are no mean over items, or of which less is better.
Source of robustness: Liang et al., "Holistic Evaluation of Language Models", 2022, section 4.5.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from fireassay.estimates.estimate import Absent, Value
from fireassay.estimates.format import count
from fireassay.frames.evaluation.item_scores import ItemScores, deciding, identity, item_scores
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.metrics import SCORED, over_items
from fireassay.metrics.metric import Metric, each
from fireassay.stats.intervals.item_means import of_items

ROBUST_RANK: Final = 2060
ROBUSTNESS: Final = "robustness"
DROP: Final = "robustness_to_"  # and the change
CHANGES: Final = "perturbations"  # the option of a task
UNDEFINED: Final = Absent(reason="undefined", detail="the deciding score is no mean over items of which more is better")


def robustness(measured: RecordData) -> Mapping[str, Metric]:
    """The metric, if items of some task were also sent with changes."""
    if not _changes(measured):
        return {}
    metric = SCORED(
        name=ROBUSTNESS,
        title="Worst score over changed questions",
        better="higher",
        formula="mean over items of the lowest score of the item and its variants",
        compute=each(_value),
        question="Does an answer stay right if the question is written otherwise?",
        caveat="More changes make it lower: compare records with the same ones.",
        rank=ROBUST_RANK,
    )
    names = dict.fromkeys(name for changes in _changes(measured).values() for name in _names(changes))
    return {ROBUSTNESS: metric, **{f"{DROP}{name}": _drop(name, place) for place, name in enumerate(names, ROBUST_RANK + 1)}}


def _drop(change: str, rank: int) -> Metric:
    return SCORED(
        name=f"{DROP}{change}",
        title=f"Score with {change.replace('_', ' ')}, against the item as it is",
        better="higher",
        formula="mean over items of (score of the changed item - score of the item)",
        compute=each(partial(_difference, change=change)),
        question=f"How much of the score is lost if questions are changed by {change.replace('_', ' ')}?",
        caveat="Paired by item; items of which one of the two has no score are left out.",
        rank=rank,
    )


def _changes(measured: RecordData) -> Mapping[str, tuple[str, ...]]:
    """Task -> its changes, of tasks with any: "typos@1"."""
    options = {task: str((facts.get("options") or {}).get(CHANGES) or "") for task, facts in identity(measured).items()}
    return {task: tuple(words.split(",")) for task, words in options.items() if words}


def _value(measured: RecordData, configuration: str) -> Value:
    found = [item_scores(measured, configuration, task, deciding(measured, task)) for task in _changes(measured)]
    if any(scores.metric.corpus or scores.metric.better != "higher" for scores in found):
        return UNDEFINED
    worst = [one for scores, changes in zip(found, _changes(measured).values(), strict=True) for one in _worst(scores, changes)]
    if len(worst) < 2:
        return Absent(reason="insufficient", detail="fewer than two items were scored with all of their changes")
    labels = [one.cluster for one in worst]
    alone = all(label is None for label in labels)
    values = np.array([one.score for one in worst])
    interval = of_items(values, np.ones(len(worst)), None if alone else labels, found[0].metric.scale, measured.confidence)
    return over_items(
        interval,
        measured.confidence,
        len(worst),
        method=f"mean over {count(len(worst), 'items')} of the worst score of each with its variants",
        signature=f"{ROBUSTNESS}|agg:mean over items of the worst variant|items:{len(worst)}|v:1",
    )


@dataclass(frozen=True, kw_only=True)
class Worst:
    """The worst score of an item and its variants."""

    score: float
    cluster: str | None  # None: none but the item's own, which holds its variants


def _worst(scores: ItemScores, changes: tuple[str, ...]) -> Iterator[Worst]:
    """Of each item that was scored in all variants."""
    clusters = _clusters(scores)
    for item, values in _variants(scores, changes).items():
        if len(values) == 1 + len(_names(changes)):
            yield Worst(score=min(values.values()), cluster=clusters[item])


def _names(changes: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(label.partition("@")[0] for label in changes)


def _variants(scores: ItemScores, changes: tuple[str, ...]) -> Mapping[str, Mapping[str, float]]:
    """item -> change ("": none) -> score."""
    names, of_item = _names(changes), defaultdict[str, dict[str, float]](dict)
    for item, score in zip(scores.items, scores.metric.item_scores(scores.rows).tolist(), strict=True):
        original, _, change = item.rpartition("~")
        of_item[original if change in names else item][change if change in names else ""] = score
    return of_item


def _clusters(scores: ItemScores) -> Mapping[str, str | None]:
    """item -> its cluster; None: its own, which holds its variants alone."""
    return {item: None if label == item else label for item, label in zip(scores.items, scores.clusters, strict=True)}


def _difference(measured: RecordData, configuration: str, *, change: str) -> Value:
    """The paired difference of one change, over the tasks that have it."""
    having = {task: changes for task, changes in _changes(measured).items() if change in _names(changes)}
    found = [(item_scores(measured, configuration, task, deciding(measured, task)), changes) for task, changes in having.items()]
    if any(scores.metric.corpus or scores.metric.better != "higher" for scores, _ in found):
        return UNDEFINED
    pairs = [
        (values[change] - values[""], clusters[item])
        for scores, changes in found
        for clusters in [_clusters(scores)]
        for item, values in _variants(scores, changes).items()
        if change in values and "" in values
    ]
    if len(pairs) < 2:
        return Absent(reason="insufficient", detail=f"fewer than two items were scored with and without {change}")
    low, high = found[0][0].metric.scale
    clusters = None if all(label is None for _, label in pairs) else [label for _, label in pairs]
    differences = np.array([difference for difference, _ in pairs])
    return over_items(
        of_items(differences, np.ones(len(pairs)), clusters, (low - high, high - low), measured.confidence),
        measured.confidence,
        len(pairs),
        method=f"paired by item, mean over {count(len(pairs), 'items')} of changed - original",
        signature=f"{DROP}{change}|agg:mean over items of paired differences|items:{len(pairs)}|v:1",
    )
