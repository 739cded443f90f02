"""BLEU, chrF and TER against sacrebleu's, from summed counts and without the library."""

from __future__ import annotations

import math
from itertools import zip_longest

import numpy as np
import pytest
from hypothesis import given
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from fireassay.errors import SpecError
from tests.quality.scoring.scored import metric, pairs, score, value

HYPOTHESES = ["the cat sat on the mat", "a dog ran"]
REFERENCES = [["the cat is on the mat"], ["a dog was running"]]


def test_the_published_value_of_bleu() -> None:
    assert value("bleu", HYPOTHESES, REFERENCES) == pytest.approx(31.21901, abs=5e-6)


@given(pairs)
def test_bleu_of_the_corpus_and_of_each_item_is_sacrebleus(items: list[tuple[str, list[str]]]) -> None:
    answers, references = [item[0] for item in items], [item[1] for item in items]
    declared, found = score("bleu", answers, references)
    assert declared.score(found.rows) == pytest.approx(BLEU().corpus_score(answers, list(zip_longest(*references))).score, abs=1e-9)
    single = BLEU(effective_order=True)
    assert found.scores == pytest.approx([single.sentence_score(*item).score for item in items], abs=1e-9)


@pytest.mark.parametrize(("tokenize", "lower"), [("char", True), ("intl", False), ("none", False)])
def test_options_of_bleu_are_sacrebleus(tokenize: str, lower: bool) -> None:
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


def test_the_published_value_of_chrf() -> None:
    answers, references = ["the cat sat on the mat", "a dog ran"], [["the cat is on the mat"], ["a dog was running"]]
    assert value("chrf", answers, references) == pytest.approx(45.06717, abs=5e-6)


@pytest.mark.parametrize("order", [0, 1, 2])
@given(items=pairs)
def test_chrf_of_the_corpus_and_of_each_item_is_sacrebleus(order: int, items: list[tuple[str, list[str]]]) -> None:
    answers, references = [item[0] for item in items], [item[1] for item in items]
    declared, found = score("chrf", answers, references, word_order=order)
    theirs = CHRF(word_order=order)
    assert declared.score(found.rows) == pytest.approx(theirs.corpus_score(answers, list(zip_longest(*references))).score, abs=1e-9)
    assert found.scores == pytest.approx([theirs.sentence_score(*item).score for item in items], abs=1e-9)


def test_options_of_chrf_are_sacrebleus_and_so_is_the_signature() -> None:
    theirs = CHRF(word_order=2, lowercase=True, whitespace=True)
    expected = theirs.corpus_score(["The cat sat"], [["a cat sat"]]).score
    assert value("chrf", ["The cat sat"], [["a cat sat"]], word_order=2, lower=True, whitespace=True) == pytest.approx(expected, abs=1e-9)
    own = metric("chrf", word_order=2, lower=True, whitespace=True).prepared.signature
    assert str(theirs.get_signature()).replace("nrefs:1", "nrefs:var") in own
    with pytest.raises(SpecError, match="whole number from 0 to 2"):
        metric("chrf", word_order=3)


def test_the_published_value_of_ter() -> None:
    answers, references = ["the cat sat on the mat", "a dog ran"], [["the cat is on the mat"], ["a dog was running"]]
    assert value("ter", answers, references) == pytest.approx(30.0, abs=1e-9)


@given(pairs)
def test_ter_of_the_corpus_and_of_each_item_is_sacrebleus(items: list[tuple[str, list[str]]]) -> None:
    answers, references = [item[0] for item in items], [item[1] for item in items]
    declared, found = score("ter", answers, references)
    assert declared.score(found.rows) == pytest.approx(TER().corpus_score(answers, list(zip_longest(*references))).score, abs=1e-9)
    assert found.scores == pytest.approx([TER().sentence_score(*item).score for item in items], abs=1e-9)


def test_options_of_ter_are_sacrebleus_and_so_is_the_signature() -> None:
    theirs = TER(normalized=True, case_sensitive=True)
    expected = theirs.corpus_score(["The cat, sat."], [["the cat sat"]]).score
    assert value("ter", ["The cat, sat."], [["the cat sat"]], normalized=True, case_sensitive=True) == pytest.approx(expected, abs=1e-9)
    own = metric("ter", normalized=True, case_sensitive=True).prepared.signature
    assert str(theirs.get_signature()).replace("nrefs:1", "nrefs:var") in own
