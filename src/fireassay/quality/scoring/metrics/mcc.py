"""How much better than chance do answers name the labels of their items?

Matthews' correlation coefficient, for any number of classes: R = (c s - p.t) / sqrt((s^2 - p.p) (s^2 - t.t)) of s items, c right, p and t how
often each class was answered and is the label.  An answer that is no label is a class of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fireassay.quality.scoring.support import labels
from fireassay.quality.scoring.support.normalise import plain_options
from fireassay.quality.scoring.text_metric import Array, Options, Prepared, TextMetric


def prepare(options: Options) -> Prepared:
    """Options `strip`, `lower`, `nfkc`; no library."""
    normalise, words = plain_options("mcc", options)

    def statistics(answers: Sequence[str], references: Sequence[Sequence[str]]) -> Array:
        return labels.rows(answers, references, normalise)

    return Prepared(signature=f"metric:mcc|impl:fireassay@1|{words}|refs:any", statistics=statistics)


def of_weighted(rows: Array, weights: Array) -> Array:
    """R of each resample; NaN where all answers or all labels are of one class."""
    right, label, answer = labels.totals(rows, weights)
    items = weights.sum(axis=1)
    of_answers, of_labels = items**2 - np.sum(answer**2, axis=1), items**2 - np.sum(label**2, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = (right.sum(axis=1) * items - np.sum(answer * label, axis=1)) / np.sqrt(of_answers * of_labels)
    varied = (np.count_nonzero(answer, axis=1) > 1) & (np.count_nonzero(label, axis=1) > 1)
    return np.where(varied, value, np.nan)


METRIC = TextMetric(
    name="mcc",
    title="Matthews correlation",
    better="higher",
    scale=(-1.0, 1.0),
    chance=0.0,
    prepare=prepare,
    options={"strip": True, "lower": False, "nfkc": False},
    statistics=labels.COLUMNS,
    of_weighted=of_weighted,
    worst=labels.worst,
    undefined="all answers or all labels are of one class",
    source="Matthews 1975; Gorodkin, Computational Biology and Chemistry 28, 2004",
    caveat="The score of one item is 1 if its answer is its label, else 0.",
)
