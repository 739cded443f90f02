"""Can these items show a loss at all?

At chance a candidate has nothing to lose, and where both sides have the highest score on every item the items are too easy to tell them
apart (assay sensitivity, ICH E10): held would say nothing.  Chance is quality.chance, else what the metric knows (0 for a correlation), else
what the task knows, else the share of right choices of a multiple-choice item, else the lower end of the score's scale.
Cannot tell: the chance level of a task whose choices stand in its prompts, unless quality.chance gives it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import count, given
from fireassay.frames.evaluation.item_scores import ItemScores, Paired, answers_of, identity
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.metrics import of_task


@dataclass(frozen=True, kw_only=True)
class Chance:
    """The score of a guesser without knowledge."""

    value: float
    guessed: bool  # by guessing; else nothing right


def chance_of(measured: RecordData, task: str, scores: ItemScores) -> Chance | None:
    """None if it is unknown."""
    quality = measured.experiment.quality
    if quality is not None and quality.chance is not None:
        return Chance(value=quality.chance, guessed=True)
    if scores.metric.chance is not None:
        return Chance(value=scores.metric.chance, guessed=True)
    of_task = identity(measured).get(task, {}).get("chance")
    if isinstance(of_task, int | float) and scores.metric.of_choices:
        return Chance(value=float(of_task), guessed=True)
    if scores.metric.reads == "likelihoods" and scores.metric.scale == (0.0, 1.0):
        by_choice = measured.once(f"chance of {task}", partial(_of_choices, task=task))
        if by_choice is not None:
            return Chance(value=by_choice, guessed=True)
    floor = scores.metric.scale[0 if scores.metric.better == "higher" else 1]
    return Chance(value=floor, guessed=False) if np.isfinite(floor) else None


def _of_choices(measured: RecordData, task: str) -> float | None:
    """Mean share of an item's choices that are right."""
    asked = answers_of(measured, measured.base).filter((pl.col("task") == task) & pl.col("text").is_not_null()).unique("item")
    shares = [len(json.loads(right)) / len(json.loads(text)) for right, text in asked.select("references", "text").iter_rows()]
    return sum(shares) / len(shares) if shares else None


def at_floor(measured: RecordData, task: str, scores: ItemScores) -> str | None:
    """Why the reference has nothing to lose: its lead over chance is at most the margin."""
    quality, chance = measured.experiment.quality, chance_of(measured, task, scores)
    if quality is None or chance is None or not scores.items or not np.isfinite(scores.value):
        return None
    lead = scores.value - chance.value if scores.metric.better == "higher" else chance.value - scores.value
    if lead > quality.margin * (1.0 + 1e-9):
        return None
    what = "guessing" if chance.guessed else "nothing right"
    near = "is no better than" if lead <= 0.0 else f"is within the margin of {given(quality.margin)} of"
    return f"{scores.metric.title} of the reference, {given(scores.value, 3)} over {count(len(scores.items), 'items')}, {near} {what}, {given(chance.value, 3)}"


def near_chance(measured: RecordData, task: str, scores: ItemScores) -> str | None:
    """Why the reference is not shown to be better than guessing though its mean is; None if it is shown, or chance is unknown."""
    chance, value = chance_of(measured, task, scores), of_task(measured, scores)
    if chance is None or not chance.guessed or not isinstance(value, Estimate):
        return None
    above = value.low > chance.value if scores.metric.better == "higher" else value.high < chance.value
    return None if above else f"the reference is not shown to be better than guessing, {given(chance.value, 3)}"


def at_ceiling(measured: RecordData, pairs: Paired) -> str | None:
    """Why these items cannot tell the sides apart: both have the highest score on every one.

    Not where the references are the reference side's own answers: there its score says nothing of how hard the items are.
    """
    evaluation, metric = measured.experiment.evaluation, pairs.reference.metric
    top = metric.scale[1 if metric.better == "higher" else 0]
    if not pairs.reference.items or not np.isfinite(top) or (evaluation is not None and evaluation.own_references):
        return None
    if not all(bool((metric.item_scores(side.rows) == top).all()) for side in (pairs.reference, pairs.candidate)):
        return None
    return f"both sides have the highest {metric.title} on all {count(len(pairs.reference.items), 'items')}: items this easy tell no sides apart"
