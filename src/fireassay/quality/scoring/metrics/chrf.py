"""How many short runs of letters does the answer share with its references?

chrF2 of a corpus from the sums of sacrebleu's counts over items: F of beta 2 of the mean precision and recall of 1- to 6-grams of letters, with
`word_order` 2 also of words (chrF++), over the orders of which both sides have some.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fireassay.quality.scoring.support import sacre
from fireassay.quality.scoring.support.options import flag, whole
from fireassay.quality.scoring.text_metric import Array, Options, Prepared, TextMetric

LETTERS, WORDS, BETA = 6, 2, 2
ORDERS = (*(f"letters_{order}" for order in range(1, LETTERS + 1)), *(f"words_{order}" for order in range(1, WORDS + 1)))
COLUMNS = tuple(f"{order}_{what}" for order in ORDERS for what in ("answer", "reference", "common"))


def prepare(options: Options) -> Prepared:
    """Options `word_order` (0: chrF, 2: chrF++), `lower` and `whitespace`; sacrebleu."""
    order = whole("chrf", options, "word_order", 0, WORDS)
    lower, white = flag("chrf", options, "lower"), flag("chrf", options, "whitespace")
    metric = sacre.library().CHRF(char_order=LETTERS, word_order=order, beta=BETA, lowercase=lower, whitespace=white)

    def statistics(answers: Sequence[str], references: Sequence[Sequence[str]]) -> Array:
        return sacre.counts(metric, answers, references, len(COLUMNS))

    return Prepared(signature=f"metric:chrf|impl:sacrebleu|{sacre.signature(metric)}|beta:{BETA}", statistics=statistics)


def of_totals(totals: Array) -> Array:
    """Corpus chrF of summed counts, shape [..., 24]."""
    answer, reference, common = np.moveaxis(totals.reshape(*totals.shape[:-1], len(ORDERS), 3), -1, 0)
    both = (answer > 0.0) & (reference > 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        orders = np.maximum(both.sum(axis=-1), 1)
        precision = np.where(both, common / answer, 0.0).sum(axis=-1) / orders
        recall = np.where(both, common / reference, 0.0).sum(axis=-1) / orders
        value = 100.0 * (1 + BETA**2) * precision * recall / (BETA**2 * precision + recall)
    return np.where(precision + recall > 0.0, value, 0.0)


def scores(rows: Array) -> Array:
    """chrF of each item."""
    return np.where(np.isnan(rows[:, 0]), np.nan, of_totals(rows))


def worst(rows: Array) -> Array:
    """As long, without a letter in common."""
    return np.asarray(rows * np.tile([1.0, 1.0, 0.0], len(ORDERS)))


METRIC = TextMetric(
    name="chrf",
    title="chrF",
    better="higher",
    scale=(0.0, 100.0),
    prepare=prepare,
    options={"word_order": 0, "lower": False, "whitespace": False},
    statistics=COLUMNS,
    of_totals=of_totals,
    scores=scores,
    worst=worst,
    source="Popović, WMT 2015 and 2017; sacrebleu",
    caveat="Of several references the one with the best score counts. The mean of the items' scores is not chrF.",
)
