"""TER against sacrebleu's, from summed counts and without the library."""

from __future__ import annotations

from itertools import zip_longest

import pytest
from hypothesis import given
from sacrebleu.metrics.ter import TER

from tests.quality.scoring.scored import metric, pairs, score, value


def test_the_published_value() -> None:
    answers, references = ["the cat sat on the mat", "a dog ran"], [["the cat is on the mat"], ["a dog was running"]]
    assert value("ter", answers, references) == pytest.approx(30.0, abs=1e-9)


@given(pairs)
def test_of_the_corpus_and_of_each_item_it_is_sacrebleus(items: list[tuple[str, list[str]]]) -> None:
    answers, references = [item[0] for item in items], [item[1] for item in items]
    declared, found = score("ter", answers, references)
    assert declared.score(found.rows) == pytest.approx(TER().corpus_score(answers, list(zip_longest(*references))).score, abs=1e-9)
    assert found.scores == pytest.approx([TER().sentence_score(*item).score for item in items], abs=1e-9)


def test_options_are_sacrebleus_and_so_is_the_signature() -> None:
    theirs = TER(normalized=True, case_sensitive=True)
    expected = theirs.corpus_score(["The cat, sat."], [["the cat sat"]]).score
    assert value("ter", ["The cat, sat."], [["the cat sat"]], normalized=True, case_sensitive=True) == pytest.approx(expected, abs=1e-9)
    own = metric("ter", normalized=True, case_sensitive=True).prepared.signature
    assert str(theirs.get_signature()).replace("nrefs:1", "nrefs:var") in own
