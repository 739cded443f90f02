"""How surprising are the given texts, per token?

exp(negative log likelihood / tokens), over all texts together.  Each text is conditioned on its own context only; no window slides over it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fireassay.quality.scoring.likelihoods import right_texts
from fireassay.quality.scoring.text_metric import Array, Options, Prepared, TextMetric


def statistics(answers: Sequence[str], references: Sequence[Sequence[str]]) -> Array:
    """Negative log likelihood and tokens; shape [items, 2]."""
    return right_texts(answers, references)[:, :2]


def of_totals(totals: Array) -> Array:
    """[..., 2] -> [...]."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        return np.asarray(np.exp(totals[..., 0] / totals[..., 1]))


def prepare(_: Options) -> Prepared:
    """No options, no library."""
    return Prepared(signature="metric:perplexity|impl:fireassay@1|per:token|base:e|agg:totals|window:own context", statistics=statistics)


METRIC = TextMetric(
    name="perplexity",
    title="Perplexity per token",
    better="lower",
    scale=(1.0, float("inf")),
    prepare=prepare,
    statistics=("nll", "tokens"),
    of_totals=of_totals,
    scores=of_totals,
    reads="likelihoods",
    caveat="Compares models with one tokenizer only; bits_per_byte compares others too.",
)
