"""How many short runs of words does the answer share with its references?

BLEU of a corpus from the sums of sacrebleu's counts over items: the geometric mean of the precisions of 1- to 4-grams times the brevity penalty
exp(1 - references' length / answers' length), zero counts smoothed as by mteval-v13a ("exp").  The score of one item is sentence BLEU
with effective order; their mean is not BLEU.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fireassay.quality.scoring.support import sacre
from fireassay.quality.scoring.support.options import choice, flag
from fireassay.quality.scoring.text_metric import Array, Options, Prepared, TextMetric

ORDERS = 4
TOKENIZERS = ("13a", "intl", "char", "zh", "none", "ja-mecab", "ko-mecab")  # those of models fetch files
COLUMNS = ("answer_length", "reference_length", *(f"{what}_{order}" for what in ("common", "all") for order in range(1, ORDERS + 1)))


def prepare(options: Options) -> Prepared:
    """Options `tokenize` and `lower`; sacrebleu."""
    tokenize, lower = choice("bleu", options, "tokenize", TOKENIZERS), flag("bleu", options, "lower")
    metric = sacre.library().BLEU(tokenize=tokenize, lowercase=lower, force=True)

    def statistics(answers: Sequence[str], references: Sequence[Sequence[str]]) -> Array:
        return sacre.counts(metric, answers, references, len(COLUMNS))

    return Prepared(signature=f"metric:bleu|impl:sacrebleu|{sacre.signature(metric)}|item:eff:yes", statistics=statistics)


def of_totals(totals: Array) -> Array:
    """Corpus BLEU of summed counts."""
    return bleu(totals, effective=False)


def scores(rows: Array) -> Array:
    """Sentence BLEU."""
    return np.where(np.isnan(rows[:, 0]), np.nan, bleu(rows, effective=True))


def bleu(totals: Array, *, effective: bool) -> Array:
    """BLEU of counts, shape [..., 10]; `effective`: only the orders of which the answers have n-grams."""
    answer, reference = totals[..., 0], totals[..., 1]
    common, every = totals[..., 2 : 2 + ORDERS], totals[..., 2 + ORDERS :]
    some = every > 0.0
    smoothed = np.where(common > 0.0, common, 0.5 ** np.cumsum((common == 0.0) & some, axis=-1))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        logs = np.where(some, np.log(100.0 * smoothed / every), 0.0 if effective else -np.inf)
        orders = some.sum(axis=-1) if effective else ORDERS
        brevity = np.where(answer < reference, np.where(answer > 0.0, np.exp(1.0 - reference / answer), 0.0), 1.0)
        value = brevity * np.exp(logs.sum(axis=-1) / orders)
    return np.where(np.any(common > 0.0, axis=-1), value, 0.0)


def worst(rows: Array) -> Array:
    """As long, without a word in common."""
    return np.concatenate([rows[:, :2], np.zeros_like(rows[:, 2 : 2 + ORDERS]), rows[:, 2 + ORDERS :]], axis=1)


METRIC = TextMetric(
    name="bleu",
    title="BLEU",
    better="higher",
    scale=(0.0, 100.0),
    prepare=prepare,
    options={"tokenize": "13a", "lower": False},
    statistics=COLUMNS,
    of_totals=of_totals,
    scores=scores,
    worst=worst,
    source="Papineni et al., ACL 2002; Post, A call for clarity in reporting BLEU scores, WMT 2018",
    caveat="Other words with the same meaning count as wrong. The mean of the items' scores is not BLEU.",
)
