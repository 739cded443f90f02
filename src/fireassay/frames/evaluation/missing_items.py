"""How do two sides score if every missing item speaks against a decision?

An item is missing at a side if it has no score there: its request failed, or the file has no answer to it.  A missing item can have any
score, so a bound fills it in with the lowest of the metric's scale at one side and the highest at the other, whichever opposes the
decision.  An item that both sides answered and neither could score is no missing item: the score is not defined for it.
Of a score that is no mean of item scores (BLEU) the worst row is made from that of the other side, if that has the item.
Cannot tell: scores without a finite scale (perplexity), and an item whose best row would be needed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from fireassay.frames.evaluation.item_scores import Answers, ItemScores, Paired, answers_of, item_scores, only
from fireassay.frames.record_data import RecordData
from fireassay.quality.scoring.text_metric import Array

Worst = Callable[[Array], Array]


@dataclass(frozen=True, kw_only=True)
class _Item:
    """What an item brings along wherever it was asked."""

    cluster: str | None
    weight: float
    answered: bool  # in some repetition


@dataclass(frozen=True, kw_only=True)
class MissingItems:
    """Items without a score, at the reference and at the candidate; an item that both lack counts at both."""

    reference: tuple[str, ...]
    candidate: tuple[str, ...]

    @property
    def count(self) -> int:
        """Items without a score on some side."""
        return len(set(self.reference) | set(self.candidate))


def missing(before: Answers, after: Answers, task: str, metric: str, kept: Collection[str] | None = None) -> MissingItems:
    """The items of a task that one side or both did not score; sides of one record or of two. `kept`: of these only."""
    sides = [_items(*side, task, kept) for side in (before, after)]
    scored = [set(item_scores(*side, task, metric).items) for side in (before, after)]
    undefined = {
        item
        for item in sides[0].keys() & sides[1].keys()
        if not any(item in side for side in scored) and all(s[item].answered for s in sides)
    }
    every = (sides[0].keys() | sides[1].keys()) - undefined
    reference, candidate = (tuple(sorted(every - side)) for side in scored)
    return MissingItems(reference=reference, candidate=candidate)


def opposed(before: Answers, after: Answers, task: str, metric: str, *, held: bool, kept: Collection[str] | None = None) -> Paired | None:
    """Both sides with every missing item filled in: against the candidate if quality was `held`, else in its favour.

    None if no such score exists.
    """
    lacking = missing(before, after, task, metric, kept)
    whole = [item_scores(*side, task, metric) for side in (before, after)]
    sides = whole if kept is None else [only(side, kept) for side in whole]
    score = sides[0].metric
    if score.worst is not None:
        return _of_rows(sides[0], sides[1], lacking, score.worst, held=held)
    if score.corpus or score.scores is not None or not np.isfinite(score.scale).all():
        return None
    worst, best = score.scale if score.better == "higher" else score.scale[::-1]
    ends = (best, worst) if held else (worst, best)
    known = {**_items(*after, task, kept), **_items(*before, task, kept)}
    gaps = (lacking.reference, lacking.candidate)
    filled = [np.full((len(gap), side.rows.shape[1]), end) for side, gap, end in zip(sides, gaps, ends, strict=True)]
    reference, candidate = (_filled(side, gap, rows, known) for side, gap, rows in zip(sides, gaps, filled, strict=True))
    return Paired(reference=reference, candidate=candidate, left=0)


def _of_rows(reference: ItemScores, candidate: ItemScores, lacking: MissingItems, worst: Worst, *, held: bool) -> Paired | None:
    """For a score that knows the worst answer to an item of a known row; None where the best one would be asked for, or no side knows the row."""
    (short, gap), (full, other) = (candidate, lacking.candidate), (reference, lacking.reference)
    if not held:
        short, gap, full, other = full, other, short, gap
    if other:
        return None
    place = {item: index for index, item in enumerate(full.items)}
    at = [place[item] for item in gap]
    known = {item: _Item(cluster=full.clusters[place[item]], weight=float(full.weights[place[item]]), answered=False) for item in gap}
    made = _filled(short, gap, worst(full.rows)[at], known)
    return Paired(reference=full, candidate=made, left=0) if held else Paired(reference=made, candidate=full, left=0)


def _filled(side: ItemScores, gap: tuple[str, ...], filled: Array, known: Mapping[str, _Item]) -> ItemScores:
    """A side with the rows `filled` for the items it lacks, in the order of ids."""
    items = (*side.items, *gap)
    rows = np.concatenate([side.rows, filled])
    weights = np.concatenate([side.weights, np.array([known[item].weight for item in gap], dtype=np.float64)])
    clusters = (*side.clusters, *(known[item].cluster for item in gap))
    order = sorted(range(len(items)), key=items.__getitem__)
    return replace(
        side,
        items=tuple(items[index] for index in order),
        rows=rows[order],
        weights=weights[order],
        clusters=tuple(clusters[index] for index in order),
    )


def _items(measured: RecordData, configuration: str, task: str, kept: Collection[str] | None) -> Mapping[str, _Item]:
    """item -> what is known of it."""
    folded = (
        answers_of(measured, configuration)
        .filter(pl.col("task") == task)
        .group_by("item")
        .agg(pl.col("cluster").first(), pl.col("weight").first(), (pl.col("outcome") == "ok").any().alias("answered"))
    )
    return {
        item: _Item(cluster=cluster, weight=weight, answered=answered)
        for item, cluster, weight, answered in folded.iter_rows()
        if kept is None or item in kept
    }
