"""How many bits does the model need for a byte of the given texts?

Negative log likelihood / (ln 2 * bytes of UTF-8), over all texts together.  A uniform model over 256 bytes needs 8.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fireassay.quality.scoring.likelihoods import right_texts
from fireassay.quality.scoring.text_metric import Array, Options, Prepared, TextMetric


def statistics(answers: Sequence[str], references: Sequence[Sequence[str]]) -> Array:
    """Negative log likelihood and bytes; shape [items, 2]."""
    return right_texts(answers, references)[:, [0, 2]]


def of_totals(totals: Array) -> Array:
    """[..., 2] -> [...]."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(totals[..., 0] / (np.log(2.0) * totals[..., 1]))


def prepare(_: Options) -> Prepared:
    """No options, no library."""
    return Prepared(signature="metric:bits_per_byte|impl:fireassay@1|per:byte|base:2|agg:totals|window:own context", statistics=statistics)


METRIC = TextMetric(
    name="bits_per_byte",
    title="Bits per byte",
    better="lower",
    scale=(0.0, float("inf")),
    prepare=prepare,
    statistics=("nll", "bytes"),
    of_totals=of_totals,
    scores=of_totals,
    reads="likelihoods",
    caveat="Lower is more probable, not better for a user.",
)
