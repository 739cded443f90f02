"""Is the answer one of the references, letter by letter, once white space around it is removed?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fireassay.scoring.text_metric import Array, Options, Prepared, TextMetric


def statistics(answers: Sequence[str], references: Sequence[Sequence[str]]) -> Array:
    """1 where an answer equals a reference, else 0; shape [items, 1]."""
    pairs = zip(answers, references, strict=True)
    return np.array([[float(answer.strip() in {reference.strip() for reference in wanted})] for answer, wanted in pairs]).reshape(-1, 1)


def prepare(_: Options) -> Prepared:
    """No options, no library."""
    return Prepared(signature="metric:exact_match|impl:fireassay@1|strip:yes|case:mixed|refs:any", statistics=statistics)


METRIC = TextMetric(name="exact_match", title="Exact match", better="higher", scale=(0.0, 1.0), prepare=prepare)
