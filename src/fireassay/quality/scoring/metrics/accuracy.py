"""How many answers are the label of their item?"""

from __future__ import annotations

from collections.abc import Sequence

from fireassay.quality.scoring.support import labels
from fireassay.quality.scoring.support.normalise import plain_options
from fireassay.quality.scoring.text_metric import Array, Options, Prepared, TextMetric


def prepare(options: Options) -> Prepared:
    """Options `strip`, `lower`, `nfkc`; no library."""
    normalise, words = plain_options("accuracy", options)

    def statistics(answers: Sequence[str], references: Sequence[Sequence[str]]) -> Array:
        return labels.rows(answers, references, normalise)[:, :1]

    return Prepared(signature=f"metric:accuracy|impl:fireassay@1|{words}|refs:any", statistics=statistics)


METRIC = TextMetric(
    name="accuracy",
    title="Accuracy",
    better="higher",
    scale=(0.0, 1.0),
    of_choices=True,
    timed=True,
    prepare=prepare,
    options={"strip": True, "lower": False, "nfkc": False},
    caveat="Where one label is frequent, naming it always scores high.",
)
