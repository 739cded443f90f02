"""How well do answers find the items of the positive class?

F1 = 2 tp / (2 tp + fp + fn), as GLUE scores MRPC and QQP.  An answer that is no label is not positive.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fireassay.quality.scoring.support.normalise import plain_options
from fireassay.quality.scoring.support.options import text
from fireassay.quality.scoring.text_metric import Array, Options, Prepared, TextMetric


def prepare(options: Options) -> Prepared:
    """Options `positive` (the label), `strip`, `lower`, `nfkc`; no library."""
    normalise, words = plain_options("f1_binary", options)
    positive = normalise(text("f1_binary", options, "positive"))

    def row(answer: str, wanted: Sequence[str]) -> tuple[float, ...]:
        if not wanted:
            return (np.nan,) * 4
        label = answer if answer in wanted else wanted[0]
        found, sought = answer == positive, label == positive
        return float(answer == label), float(found and sought), float(found and not sought), float(sought and not found)

    def statistics(answers: Sequence[str], references: Sequence[Sequence[str]]) -> Array:
        pairs = zip(answers, references, strict=True)
        return np.array([row(normalise(answer), [*map(normalise, wanted)]) for answer, wanted in pairs])

    return Prepared(signature=f"metric:f1_binary|impl:fireassay@1|positive:{positive}|{words}|refs:any", statistics=statistics)


def of_totals(totals: Array) -> Array:
    """F1; NaN where the positive class is neither answered nor a label."""
    _, hits, false, missed = np.moveaxis(totals, -1, 0)
    with np.errstate(invalid="ignore"):
        return np.asarray(2.0 * hits / (2.0 * hits + false + missed))


def worst(rows: Array) -> Array:
    """The other class."""
    sought = rows[:, 1] + rows[:, 3]
    return np.stack([0.0 * sought, 0.0 * sought, 1.0 - sought, sought], axis=1)


METRIC = TextMetric(
    name="f1_binary",
    title="F1 of the positive class",
    better="higher",
    scale=(0.0, 1.0),
    prepare=prepare,
    options={"positive": "1", "strip": True, "lower": False, "nfkc": False},
    statistics=("right", "true_positive", "false_positive", "false_negative"),
    of_totals=of_totals,
    worst=worst,
    undefined="no answer and no label is of the positive class",
    source="van Rijsbergen 1979; Wang et al., GLUE, 2018",
    caveat="Items that are rightly not positive do not count. The score of one item is 1 if its answer is its label, else 0.",
)
