"""How closely do numbers in answers follow those of their references?

Weighted product-moment correlation (Pearson 1895) of numbers or of mid-ranks (Spearman 1904) for many resamples at once: a weight is how
often an item was drawn.  Undefined, NaN, where all drawn numbers of one side are equal; never 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from fireassay.errors import refuse
from fireassay.quality.scoring.text_metric import Array, Options, Prepared, TextMetric, by_item, wrong
from fireassay.spec.explain import shown

COLUMNS = ("minus_distance", "answer", "reference")
GREATEST = 1e100
UNDEFINED = "all answers or all references are the same number"
CAVEAT = (
    "An answer that is no number has no score, and is left out unless option `otherwise` names a number to put in its stead. The score of one "
    "item is minus its distance from the reference."
)


def number(text: str) -> float:
    """The number that a text is, whose square can be summed; NaN if it is none."""
    try:
        value = float(text.strip()) if "_" not in text else math.nan
    except ValueError:
        return math.nan
    return value if abs(value) <= GREATEST else math.nan


def prepare(metric: str, options: Options) -> Prepared:
    """Option `otherwise`: the number that stands for an answer that is none; empty: such an answer has no score."""
    chosen = str(options["otherwise"])
    otherwise = number(chosen)
    if chosen and math.isnan(otherwise):
        raise wrong(metric, "otherwise", options["otherwise"], "a finite number, or nothing")

    signature = f"metric:{metric}|impl:fireassay@1|otherwise:{chosen or 'no score'}|refs:first"
    return Prepared(signature=signature, statistics=by_item(lambda answer, wanted: _row(answer, wanted, otherwise)))


def _row(answer: str, references: Sequence[str], otherwise: float) -> tuple[float, float, float]:
    if not references:
        return (math.nan, math.nan, math.nan)
    wanted = number(references[0])
    if math.isnan(wanted):
        raise refuse("a reference", shown(references[0]), "a finite number, for a score that is a correlation", source="the items")
    value = number(answer)
    value = otherwise if math.isnan(value) else value
    return (-abs(value - wanted), value, wanted if not math.isnan(value) else math.nan)


def worst(rows: Array) -> Array:
    """Each answer is the end of the references' range that is farther from its own."""
    wanted = rows[:, 2]
    answer = np.where(2.0 * wanted > wanted.min() + wanted.max(), wanted.min(), wanted.max())
    return np.stack([-np.abs(answer - wanted), answer, wanted], axis=1)


def pearson(rows: Array, weights: Array) -> Array:
    """Of columns 1 and 2, shape [resamples]."""
    sides = [column - column.mean() for column in (rows[:, 1], rows[:, 2])]  # else squares cancel
    total = weights.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        x, y = ((weights @ side) / total for side in sides)
        xx, yy = ((weights @ side**2) / total for side in sides)
        xy = (weights @ (sides[0] * sides[1])) / total
        r = (xy - x * y) / np.sqrt((xx - x * x) * (yy - y * y))
    constant = np.any([_constant(side, weights) for side in sides], axis=0)
    return np.where(constant, np.nan, np.clip(r, -1.0, 1.0))


def spearman(rows: Array, weights: Array) -> Array:
    """Of columns 1 and 2, shape [resamples]."""
    total = weights.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        x, y = (_centred(_ranks(rows[:, side], weights), weights, total) for side in (1, 2))
        r = np.sum(weights * x * y, axis=1) / np.sqrt(np.sum(weights * x * x, axis=1) * np.sum(weights * y * y, axis=1))
    constant = np.any([_constant(rows[:, side], weights) for side in (1, 2)], axis=0)
    return np.where(constant, np.nan, np.clip(r, -1.0, 1.0))


def _ranks(values: Array, weights: Array) -> Array:
    """Mid-rank of each item within each resample, shape [resamples, items]."""
    distinct, group = np.unique(values, return_inverse=True)
    order = np.argsort(group, kind="stable")
    sizes = np.add.reduceat(weights[:, order], np.searchsorted(group[order], np.arange(len(distinct))), axis=1)
    return np.asarray((np.cumsum(sizes, axis=1) - sizes / 2.0)[:, group])


def _centred(ranks: Array, weights: Array, total: Array) -> Array:
    return np.asarray(ranks - np.sum(weights * ranks, axis=1, keepdims=True) / total)


def _constant(values: Array, weights: Array) -> Array:
    drawn = weights > 0.0
    return np.asarray(np.where(drawn, values, -np.inf).max(axis=1) <= np.where(drawn, values, np.inf).min(axis=1))


def _correlation(name: str, title: str, fold: Callable[[Array, Array], Array], source: str) -> TextMetric:
    return TextMetric(
        name=name,
        title=title,
        better="higher",
        scale=(-1.0, 1.0),
        chance=0.0,
        prepare=partial(prepare, name),
        options={"otherwise": ""},
        statistics=COLUMNS,
        of_weighted=fold,
        worst=worst,
        undefined=UNDEFINED,
        source=source,
        caveat=CAVEAT,
    )


METRICS = (
    _correlation("pearson", "Pearson correlation", pearson, "Pearson, Proceedings of the Royal Society 58, 1895"),
    _correlation(
        "spearman", "Spearman correlation", spearman, "Spearman, American Journal of Psychology 15, 1904; ties get their mean rank"
    ),
)
