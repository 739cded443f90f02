"""How many edits make the answer its reference?

Translation edit rate of a corpus from sacrebleu's counts: 100 times the insertions, deletions, substitutions and shifts of runs of words over the
references' mean length.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fireassay.quality.scoring.support import sacre
from fireassay.quality.scoring.support.options import flag
from fireassay.quality.scoring.text_metric import Array, Options, Prepared, TextMetric


def prepare(options: Options) -> Prepared:
    """Options `normalized`, `no_punct`, `asian_support`, `case_sensitive` of sacrebleu."""
    chosen = {option: flag("ter", options, option) for option in METRIC.options}
    metric = sacre.library().TER(**chosen)

    def statistics(answers: Sequence[str], references: Sequence[Sequence[str]]) -> Array:
        return sacre.counts(metric, answers, references, 2)

    return Prepared(signature=f"metric:ter|impl:sacrebleu|{sacre.signature(metric)}", statistics=statistics)


def of_totals(totals: Array) -> Array:
    """Edits over references' length; without any, 100 if there are edits and else 0."""
    edits, length = totals[..., 0], totals[..., 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(100.0 * np.where(length > 0.0, edits / length, (edits > 0.0).astype(np.float64)))


def scores(rows: Array) -> Array:
    """TER of each item."""
    return np.where(np.isnan(rows[:, 0]), np.nan, of_totals(rows))


def worst(rows: Array) -> Array:
    """Every word of the reference is an edit, if there were not more."""
    return np.stack([rows.max(axis=1), rows[:, 1]], axis=1)


METRIC = TextMetric(
    name="ter",
    title="TER",
    better="lower",
    scale=(0.0, float("inf")),
    prepare=prepare,
    options={"normalized": False, "no_punct": False, "asian_support": False, "case_sensitive": False},
    statistics=("edits", "reference_length"),
    of_totals=of_totals,
    scores=scores,
    worst=worst,
    source="Snover et al., AMTA 2006; sacrebleu",
    caveat="The search for shifts takes minutes for texts of many thousand words. The mean of the items' scores is not TER.",
)
