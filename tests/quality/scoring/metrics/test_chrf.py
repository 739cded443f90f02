"""chrF against sacrebleu's, from summed counts and without the library."""

from __future__ import annotations

from itertools import zip_longest

import pytest
from hypothesis import given
from sacrebleu.metrics.chrf import CHRF

from fireassay.errors import SpecError
from tests.quality.scoring.scored import metric, pairs, score, value


def test_the_published_value() -> None:
    answers, references = ["the cat sat on the mat", "a dog ran"], [["the cat is on the mat"], ["a dog was running"]]
    assert value("chrf", answers, references) == pytest.approx(45.06717, abs=5e-6)


@pytest.mark.parametrize("order", [0, 1, 2])
@given(items=pairs)
def test_of_the_corpus_and_of_each_item_it_is_sacrebleus(order: int, items: list[tuple[str, list[str]]]) -> None:
    answers, references = [item[0] for item in items], [item[1] for item in items]
    declared, found = score("chrf", answers, references, word_order=order)
    theirs = CHRF(word_order=order)
    assert declared.score(found.rows) == pytest.approx(theirs.corpus_score(answers, list(zip_longest(*references))).score, abs=1e-9)
    assert found.scores == pytest.approx([theirs.sentence_score(*item).score for item in items], abs=1e-9)


def test_options_are_sacrebleus_and_so_is_the_signature() -> None:
    theirs = CHRF(word_order=2, lowercase=True, whitespace=True)
    expected = theirs.corpus_score(["The cat sat"], [["a cat sat"]]).score
    assert value("chrf", ["The cat sat"], [["a cat sat"]], word_order=2, lower=True, whitespace=True) == pytest.approx(expected, abs=1e-9)
    own = metric("chrf", word_order=2, lower=True, whitespace=True).prepared.signature
    assert str(theirs.get_signature()).replace("nrefs:1", "nrefs:var") in own
    with pytest.raises(SpecError, match="whole number from 0 to 2"):
        metric("chrf", word_order=3)
