"""Which examples belong to one cluster, and how is that stated?

An example's cluster comes with its scores and must be the same wherever it was scored; a side recorded without clusters
takes the other's.

Can the reference's quality show a loss at all?

A comparison holds whatever the candidate does if the reference gets nothing right, scores no better than guessing, or exceeds
its floor by no more than the margin (assay sensitivity, ICH E10). The floor is quality.chance; without it 0 for scores of 0 to 1
(1 if lower is better and each score is 0 or 1). Empty answers have no quality, whatever their score.
Cannot tell: an undeclared chance level of a task.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import count, given
from fireassay.spec.experiment import Quality
from fireassay.stats.intervals.item_means import Labels


def clusters_of(scores: pl.DataFrame, examples: Sequence[str]) -> list[str | None] | Absent:
    """The cluster of each of the examples, None for a single one, from a frame (example, cluster, ...)."""
    if scores["cluster"].null_count() == scores.height:
        return [None] * len(examples)
    known = scores.filter(pl.col("cluster").is_not_null()).select("example", "cluster").unique()
    twice = known.filter(pl.col("example").is_duplicated()).sort("example", "cluster")
    if twice.height:
        example, *others = twice["example"][0], *twice.filter(pl.col("example") == twice["example"][0])["cluster"]
        return Absent("refused", f"example {example} was scored in the clusters {' and '.join(others)}; use the same one everywhere")
    labels = dict(known.iter_rows())
    return [labels.get(example) for example in examples]


def undeclared(clusters: Labels, declared: str) -> Absent | None:
    """Why declared clusters are unusable if no example has one."""
    if not declared or any(label is not None for label in clusters):
        return None
    return Absent(
        "refused",
        f"quality.cluster says that examples share {declared!r}, but no score has one; call probe.examples(..., cluster=...), or "
        f"remove the key",
    )


def examples_words(examples: int, clusters: int | None, alone: int) -> str:
    """ "500 examples in 50 clusters", or that they count as independent because no cluster was given."""
    if clusters is None:
        return f"{count(examples, 'examples')} taken as independent, because no clusters are given"
    return f"{count(examples, 'examples')} in {count(clusters, 'clusters')}{f', {alone:,} of them in none' if alone else ''}"


def labels_words(clusters: Labels) -> str:
    """The same for labels."""
    given = [label for label in clusters if label is not None]
    return examples_words(len(clusters), len(set(given)) if given else None, len(clusters) - len(given))


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
