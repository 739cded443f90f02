"""Is the answer one of the references, as the evaluation scripts of SQuAD compare them?

1 if they are equal once case, punctuation, articles and spacing are ignored.  A question without a reference, or with empty ones only, has no
answer: there an empty text is right (SQuAD 2.0).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fireassay.quality.scoring.support.normalise import squad_options
from fireassay.quality.scoring.text_metric import Array, Options, Prepared, TextMetric


def prepare(options: Options) -> Prepared:
    """Options `none` (the word that says that there is no answer) and `nfkc`; no library."""
    normalise, words = squad_options("squad_exact_match", options)

    def statistics(answers: Sequence[str], references: Sequence[Sequence[str]]) -> Array:
        pairs = zip(answers, references, strict=True)
        found = [float(normalise(answer) in ([one for one in map(normalise, wanted) if one] or [""])) for answer, wanted in pairs]
        return np.array(found, dtype=np.float64).reshape(-1, 1)

    return Prepared(signature=f"metric:squad_exact_match|impl:fireassay@1|{words}|empty:no answer|refs:any", statistics=statistics)


METRIC = TextMetric(
    name="squad_exact_match",
    title="Exact match (SQuAD)",
    better="higher",
    scale=(0.0, 1.0),
    timed=True,
    prepare=prepare,
    options={"none": "", "nfkc": False},
    source="evaluation script of SQuAD 2.0; Rajpurkar et al., Know what you don't know, 2018",
    caveat="Only English articles and ASCII punctuation are ignored.",
)
