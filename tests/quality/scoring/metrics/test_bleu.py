"""BLEU against sacrebleu's, from summed counts and without the library."""

from __future__ import annotations

import math
from itertools import zip_longest

import numpy as np
import pytest
from hypothesis import given
from sacrebleu.metrics.bleu import BLEU

from fireassay.errors import SpecError
from tests.quality.scoring.scored import metric, pairs, score, value

HYPOTHESES = ["the cat sat on the mat", "a dog ran"]
REFERENCES = [["the cat is on the mat"], ["a dog was running"]]


def test_the_published_value() -> None:
    assert value("bleu", HYPOTHESES, REFERENCES) == pytest.approx(31.21901, abs=5e-6)


@given(pairs)
def test_of_the_corpus_and_of_each_item_it_is_sacrebleus(items: list[tuple[str, list[str]]]) -> None:
    answers, references = [item[0] for item in items], [item[1] for item in items]
    declared, found = score("bleu", answers, references)
    assert declared.score(found.rows) == pytest.approx(BLEU().corpus_score(answers, list(zip_longest(*references))).score, abs=1e-9)
    single = BLEU(effective_order=True)
    assert found.scores == pytest.approx([single.sentence_score(*item).score for item in items], abs=1e-9)


@pytest.mark.parametrize(("tokenize", "lower"), [("char", True), ("intl", False), ("none", False)])
def test_options_are_sacrebleus(tokenize: str, lower: bool) -> None:
    theirs = BLEU(tokenize=tokenize, lowercase=lower)
    expected = theirs.corpus_score(["The Cat, sat!"], [["the cat sat on it"]]).score
    assert value("bleu", ["The Cat, sat!"], [["the cat sat on it"]], tokenize=tokenize, lower=lower) == pytest.approx(expected, abs=1e-9)
    own = metric("bleu", tokenize=tokenize, lower=lower).prepared.signature
    assert str(theirs.get_signature()).replace("nrefs:1", "nrefs:var") in own


def test_batches_are_one_corpus_and_an_item_without_a_reference_has_no_score() -> None:
    answers = [f"word {number} and more words" for number in range(1100)]
    references = [[f"word {number} and some more words", f"word {number % 7}"][: number % 2 + 1] for number in range(1100)]
    expected = BLEU().corpus_score(answers, list(zip_longest(*references))).score
    assert value("bleu", answers, references) == pytest.approx(expected, abs=1e-9)
    _, found = score("bleu", ["a b", "a b"], [[], ["a b"]])
    assert math.isnan(found.scores[0])
    assert np.isnan(found.rows[0]).all()
    assert found.scores[1] == pytest.approx(100.0)


def test_an_unknown_tokenizer_is_refused() -> None:
    with pytest.raises(SpecError, match=r"bleu\.tokenize.*13a"):
        metric("bleu", tokenize="14a")
