"""How probable does a model find the right choice, or a given text?

acc, acc_norm and acc_bytes are those of lm-evaluation-harness' multiple_choice tasks: right if the right choice has the highest log probability,
as a sum over its tokens, per character or per byte of UTF-8, without the white space before it.
Perplexity is exp(negative log likelihood / tokens), bits per byte negative log likelihood / (ln 2 * bytes of UTF-8), over all texts together; a
uniform model over 256 bytes needs 8.  Each text is conditioned on its own context only; no window slides over it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fireassay.quality.scoring.likelihoods import Likelihood, chosen_right, right_texts
from fireassay.quality.scoring.text_metric import Array, Prepared, TextMetric


def _accuracy(name: str, title: str, norm: str, length: Callable[[Likelihood], float], favours: str) -> TextMetric:
    prepared = Prepared(
        signature=f"metric:{name}|impl:fireassay@1|norm:{norm}|ties:first",
        statistics=lambda answers, references: chosen_right(answers, references, length),
    )
    return TextMetric(
        name=name,
        title=title,
        better="higher",
        scale=(0.0, 1.0),
        of_choices=True,
        prepare=lambda _: prepared,
        reads="likelihoods",
        source=f"lm-evaluation-harness, {name} of a multiple_choice task",
        caveat=f"Favours {favours} choices.",
    )


def _of_texts(name: str, title: str, unit: str, base: str, fold: Callable[[Array], Array], least: float, caveat: str) -> TextMetric:
    """Lower is better; a row is an item's negative log likelihood and its tokens or bytes."""
    column = {"token": 1, "byte": 2}[unit]

    def statistics(answers: Sequence[str], references: Sequence[Sequence[str]]) -> Array:
        return right_texts(answers, references)[:, [0, column]]

    def of_totals(totals: Array) -> Array:
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            return np.asarray(fold(totals))

    signature = f"metric:{name}|impl:fireassay@1|per:{unit}|base:{base}|agg:totals|window:own context"
    return TextMetric(
        name=name,
        title=title,
        better="lower",
        scale=(least, float("inf")),
        prepare=lambda _: Prepared(signature=signature, statistics=statistics),
        statistics=("nll", f"{unit}s"),
        of_totals=of_totals,
        scores=of_totals,
        reads="likelihoods",
        caveat=caveat,
    )


METRICS = (
    _accuracy("acc", "Choice accuracy", "none", lambda choice: 1.0, "short"),
    _accuracy("acc_norm", "Choice accuracy, per character", "characters", lambda choice: choice.characters, "long"),
    _accuracy("acc_bytes", "Choice accuracy, per byte", "bytes", lambda choice: choice.bytes, "long"),
    _of_texts(
        name="perplexity",
        title="Perplexity per token",
        unit="token",
        base="e",
        fold=lambda totals: np.exp(totals[..., 0] / totals[..., 1]),
        least=1.0,
        caveat="Compares models with one tokenizer only; bits_per_byte compares others too.",
    ),
    _of_texts(
        name="bits_per_byte",
        title="Bits per byte",
        unit="byte",
        base="2",
        fold=lambda totals: totals[..., 0] / (np.log(2.0) * totals[..., 1]),
        least=0.0,
        caveat="Lower is more probable, not better for a user.",
    ),
)
