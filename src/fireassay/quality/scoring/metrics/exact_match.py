"""Is the answer one of the references, letter by letter, once white space around it is removed?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fireassay.quality.scoring.support.normalise import plain_options
from fireassay.quality.scoring.text_metric import Array, Options, Prepared, TextMetric


def prepare(options: Options) -> Prepared:
    """Options `strip`, `lower`, `nfkc`; no library."""
    normalise, words = plain_options("exact_match", options)

    def statistics(answers: Sequence[str], references: Sequence[Sequence[str]]) -> Array:
        pairs = zip(answers, references, strict=True)
        found = [float(normalise(answer) in map(normalise, wanted)) if wanted else np.nan for answer, wanted in pairs]
        return np.array(found, dtype=np.float64).reshape(-1, 1)

    return Prepared(signature=f"metric:exact_match|impl:fireassay@1|{words}|refs:any", statistics=statistics)


METRIC = TextMetric(
    name="exact_match",
    title="Exact match",
    better="higher",
    scale=(0.0, 1.0),
    of_choices=True,
    timed=True,
    prepare=prepare,
    options={"strip": True, "lower": False, "nfkc": False},
    caveat="A right answer in other words counts as wrong.",
)
