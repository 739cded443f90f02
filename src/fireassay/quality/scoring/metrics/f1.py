"""How many words do the answer and a reference share, as the evaluation scripts of SQuAD count them?

F1 of the two bags of words after SQuAD's normalisation; the best of the references counts.  With `no_answer` (SQuAD 2.0) empty references
are left out where others are not, none left means that there is no answer, and two texts without a word agree.  Without it (SQuAD 1.1)
texts without a word score 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from fireassay.quality.scoring.support.normalise import squad_options
from fireassay.quality.scoring.support.options import flag
from fireassay.quality.scoring.text_metric import Array, Options, Prepared, TextMetric


def prepare(options: Options) -> Prepared:
    """Options `no_answer`, `none` (the word that says so) and `nfkc`; no library."""
    normalise, words = squad_options("f1", options)
    no_answer = flag("f1", options, "no_answer")

    def one(answer: str, references: Sequence[str]) -> tuple[float, float, float]:
        own, wanted = normalise(answer).split(), [normalise(reference).split() for reference in references]
        if no_answer:
            wanted = [tokens for tokens in wanted if tokens] or [[]]
        scores = [overlap(own, tokens, 1.0 if no_answer else 0.0) for tokens in wanted]
        return max(scores, key=lambda score: score[0]) if scores else (np.nan, np.nan, np.nan)

    def statistics(answers: Sequence[str], references: Sequence[Sequence[str]]) -> Array:
        return np.array([one(answer, wanted) for answer, wanted in zip(answers, references, strict=True)])

    version = "2.0" if no_answer else "1.1"
    return Prepared(signature=f"metric:f1|impl:fireassay@1|as:squad@{version}|{words}|refs:max", statistics=statistics)


def overlap(answer: Sequence[str], reference: Sequence[str], both_empty: float) -> tuple[float, float, float]:
    """F1, precision and recall of two bags of words."""
    if not answer or not reference:
        agreed = both_empty if not answer and not reference else 0.0
        return agreed, agreed, agreed
    same = (Counter(answer) & Counter(reference)).total()
    if not same:
        return 0.0, 0.0, 0.0
    precision, recall = same / len(answer), same / len(reference)
    return 2.0 * precision * recall / (precision + recall), precision, recall


METRIC = TextMetric(
    name="f1",
    title="Token F1 (SQuAD)",
    better="higher",
    scale=(0.0, 1.0),
    timed=True,
    prepare=prepare,
    options={"no_answer": True, "none": "", "nfkc": False},
    statistics=("f1", "precision", "recall"),
    source="evaluation scripts of SQuAD 1.1 and 2.0; Rajpurkar et al., 2016 and 2018",
    caveat="The order of words does not count, and words are what white space separates.",
)
