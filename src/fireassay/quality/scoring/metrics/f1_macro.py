"""How well do answers find the items of each class, all classes counting alike?

Mean over the classes that occur as labels of F1 = 2 tp / (answers of the class + labels of the class).  An answer that is no label belongs to no
class: it is missed, and makes none.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fireassay.quality.scoring.support import labels
from fireassay.quality.scoring.support.normalise import plain_options
from fireassay.quality.scoring.text_metric import Array, Options, Prepared, TextMetric


def prepare(options: Options) -> Prepared:
    """Options `strip`, `lower`, `nfkc`; no library."""
    normalise, words = plain_options("f1_macro", options)

    def statistics(answers: Sequence[str], references: Sequence[Sequence[str]]) -> Array:
        return labels.rows(answers, references, normalise)

    return Prepared(signature=f"metric:f1_macro|impl:fireassay@1|classes:of labels|{words}|refs:any", statistics=statistics)


def of_weighted(rows: Array, weights: Array) -> Array:
    """Mean F1 of each resample over the classes whose items were drawn."""
    right, label, answer = labels.totals(rows, weights)
    present = label > 0.0
    with np.errstate(invalid="ignore", divide="ignore"):
        of_class = np.where(present, 2.0 * right / (label + answer), 0.0)
        return np.asarray(of_class.sum(axis=1) / present.sum(axis=1))


METRIC = TextMetric(
    name="f1_macro",
    title="Macro F1",
    better="higher",
    scale=(0.0, 1.0),
    prepare=prepare,
    options={"strip": True, "lower": False, "nfkc": False},
    statistics=labels.COLUMNS,
    of_weighted=of_weighted,
    worst=labels.worst,
    source="van Rijsbergen 1979; the mean is that of scikit-learn's f1_score over the labels of the items",
    caveat="A rare class counts like a frequent one. The score of one item is 1 if its answer is its label, else 0.",
)
