"""Is the answer one of the references, does it contain one, or how many words do they share?

As written, or as the evaluation scripts of SQuAD compare texts: equal once case, punctuation, articles and spacing are ignored; F1 is that of the
two bags of words, and the best of the references counts.  A question without a reference, or with empty ones only, has no answer: there an empty
text is right (SQuAD 2.0, `no_answer`).  Without `no_answer` (SQuAD 1.1) texts without a word have an F1 of 0.

Does a program pass its tests?  Judged by the sandbox (`fireassay.quality.sandbox`), never by a text, so only tasks of code have it.

Over several programs of one problem it is the share that passes, the unbiased estimate of pass@1 (Chen et al., arXiv:2107.03374).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NoReturn

import numpy as np

from fireassay.errors import refuse
from fireassay.quality.scoring.text_metric import PLAIN, Options, Prepared, TextMetric, by_item, flag, plain_options, squad_options, yes


def prepare_exact_match(options: Options) -> Prepared:
    """Options `strip`, `lower`, `nfkc`; no library."""
    normalise, words = plain_options("exact_match", options)

    def row(answer: str, wanted: Sequence[str]) -> float:
        return float(normalise(answer) in map(normalise, wanted)) if wanted else np.nan

    return Prepared(signature=f"metric:exact_match|impl:fireassay@2|{words}|refs:any", statistics=by_item(row))


def prepare_contains(options: Options) -> Prepared:
    """Options `strip`, `lower`, `nfkc`, `words`; no library.

    With `words` only whole words count: "art" is not in "party".  An empty reference is contained in an empty answer only.
    """
    normalise, switches = plain_options("contains", options)
    words = flag("contains", options, "words")

    def holds(answer: str, reference: str) -> bool:
        if not reference or not words:
            return reference in answer if reference else not answer
        return re.search(rf"(?<!\w){re.escape(reference)}(?!\w)", answer) is not None

    def row(answer: str, wanted: Sequence[str]) -> float:
        text = normalise(answer)
        return float(any(holds(text, reference) for reference in map(normalise, wanted))) if wanted else np.nan

    return Prepared(signature=f"metric:contains|impl:fireassay@2|{switches}|words:{yes(words)}|refs:any", statistics=by_item(row))


def prepare_squad_exact_match(options: Options) -> Prepared:
    """Options `none` (the word that says that there is no answer) and `nfkc`; no library."""
    normalise, words = squad_options("squad_exact_match", options)

    def row(answer: str, wanted: Sequence[str]) -> float:
        return float(normalise(answer) in ([text for text in map(normalise, wanted) if text] or [""]))

    return Prepared(signature=f"metric:squad_exact_match|impl:fireassay@1|{words}|empty:no answer|refs:any", statistics=by_item(row))


def prepare_f1(options: Options) -> Prepared:
    """Options `no_answer`, `none` (the word that says so) and `nfkc`; no library."""
    normalise, words = squad_options("f1", options)
    no_answer = flag("f1", options, "no_answer")

    def row(answer: str, references: Sequence[str]) -> tuple[float, float, float]:
        own, wanted = normalise(answer).split(), [normalise(reference).split() for reference in references]
        if no_answer:
            wanted = [tokens for tokens in wanted if tokens] or [[]]
        scores = [overlap(own, tokens, 1.0 if no_answer else 0.0) for tokens in wanted]
        return max(scores, key=lambda score: score[0]) if scores else (np.nan, np.nan, np.nan)

    version = "2.0" if no_answer else "1.1"
    return Prepared(signature=f"metric:f1|impl:fireassay@1|as:squad@{version}|{words}|refs:max", statistics=by_item(row))


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


def prepare_pass_at_1(_: Options) -> NoReturn:
    """Refuse: a text has no tests."""
    allowed = "a score of texts; programs are judged by their tests"
    fix = "Use a task of code, as in: assay evaluate --task humaneval --data problems.jsonl"
    raise refuse("evaluation.metrics", '"pass_at_1" for a text', allowed, fix, source="the scores")


PASS_AT_1 = TextMetric(
    name="pass_at_1",
    title="pass@1",
    better="higher",
    scale=(0.0, 1.0),
    prepare=prepare_pass_at_1,
    reads="programs",
    source="Chen et al., arXiv:2107.03374",
    caveat="It says nothing about inputs that the tests do not try.",
)
METRICS = (
    TextMetric(
        name="exact_match",
        title="Exact match",
        better="higher",
        scale=(0.0, 1.0),
        of_choices=True,
        timed=True,
        prepare=prepare_exact_match,
        options=PLAIN,
        caveat="A right answer in other words counts as wrong.",
    ),
    TextMetric(
        name="contains",
        title="Contains the answer",
        better="higher",
        scale=(0.0, 1.0),
        timed=True,
        prepare=prepare_contains,
        options={**PLAIN, "lower": True, "words": False},
        caveat="A long answer that names everything contains the right one, also where it denies it.",
    ),
    TextMetric(
        name="squad_exact_match",
        title="Exact match (SQuAD)",
        better="higher",
        scale=(0.0, 1.0),
        timed=True,
        prepare=prepare_squad_exact_match,
        options={"none": "", "nfkc": False},
        source="evaluation script of SQuAD 2.0; Rajpurkar et al., Know what you don't know, 2018",
        caveat="Only English articles and ASCII punctuation are ignored.",
    ),
    TextMetric(
        name="f1",
        title="Token F1 (SQuAD)",
        better="higher",
        scale=(0.0, 1.0),
        timed=True,
        prepare=prepare_f1,
        options={"no_answer": True, "none": "", "nfkc": False},
        statistics=("f1", "precision", "recall"),
        source="evaluation scripts of SQuAD 1.1 and 2.0; Rajpurkar et al., 2016 and 2018",
        caveat="The order of words does not count, and words are what white space separates.",
    ),
    PASS_AT_1,
)
