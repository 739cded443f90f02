"""Can the reference's quality show a loss at all?

A comparison holds whatever the candidate does if the reference gets nothing right, scores no better than guessing, or exceeds
its floor by no more than the margin (assay sensitivity, ICH E10). The floor is quality.chance; without it 0 for scores of 0 to 1
(1 if lower is better and each score is 0 or 1). Empty answers have no quality, whatever their score.
Cannot tell: an undeclared chance level of a task.
"""

from __future__ import annotations

import polars as pl

from fireassay.estimates.estimate import Estimate, Value
from fireassay.estimates.format import count, given
from fireassay.spec.experiment import Quality


def at_floor(scores: pl.DataFrame, quality: Quality) -> str | None:
    """Why these scores (launch, example, score, empty) are no usable reference; None if they are, or if there are none."""
    values = scores["score"]
    if scores.height == 0 or not values.is_finite().all():
        return None
    if bool(scores["empty"].all()):
        return f"none of {count(scores.height, 'answers')} has any text"
    floor, mean = floor_of(values, quality), float(values.mean())  # type: ignore[arg-type]
    if floor is None:
        return None
    lead = mean - floor if quality.direction == "higher" else floor - mean
    shown = f"{quality.metric} is {given(mean, 4)}"
    if lead <= 0.0 and quality.chance is None:
        return f"nothing is right: {shown} over {count(scores['example'].n_unique(), 'examples')}"
    if lead <= 0.0:
        return f"it is no better than guessing: {shown}, quality.chance is {given(floor)}"
    if lead <= quality.margin * (1.0 + 1e-9):
        near = f"within the margin of {given(quality.margin)} of {_named(quality, floor)}"
        return f"{shown}, {near}: a candidate that does no better would count as held"
    return None


def floor_of(values: pl.Series, quality: Quality) -> float | None:
    """The score of a guesser without knowledge; None if unknown."""
    if quality.chance is not None:
        return quality.chance
    if not bool(values.is_between(0.0, 1.0).all()):
        return None
    if quality.direction == "higher":
        return 0.0
    return 1.0 if bool(values.is_in([0.0, 1.0]).all()) else None


def near_chance(value: Value, quality: Quality) -> str | None:
    """Why the reference is not shown to exceed the declared chance though its mean does; None if it is shown."""
    if quality.chance is None or not isinstance(value, Estimate):
        return None
    above = value.low > quality.chance if quality.direction == "higher" else value.high < quality.chance
    return None if above else f"not shown to be better than chance, {given(quality.chance)}; score more examples"


def _named(quality: Quality, floor: float) -> str:
    return f"chance, {given(floor)}" if quality.chance is not None else f"nothing right, {given(floor)}"
