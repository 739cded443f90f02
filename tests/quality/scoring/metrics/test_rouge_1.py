"""ROUGE-1 against rouge-score's."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from rouge_score.rouge_scorer import RougeScorer

from tests.quality.scoring.scored import pairs, score, value

TARGET, PREDICTION = "police killed the gunman.\nthe mayor spoke.", "the mayor spoke.\npolice kill the gunman."


@pytest.mark.parametrize(("stem", "published"), [(False, 0.857143), (True, 1.0)])
def test_the_published_values(stem: bool, published: float) -> None:
    assert value("rouge_1", [PREDICTION], [[TARGET]], stem=stem) == pytest.approx(published, abs=5e-7)


@pytest.mark.parametrize("stem", [False, True])
@settings(max_examples=80)
@given(items=pairs)
def test_it_is_that_of_rouge_score(stem: bool, items: list[tuple[str, list[str]]]) -> None:
    theirs = RougeScorer(["rouge1"], use_stemmer=stem)
    _, found = score("rouge_1", [item[0] for item in items], [item[1] for item in items], stem=stem)
    for row, (answer, references) in zip(found.rows, items, strict=True):
        expected = theirs.score_multi(references, answer)["rouge1"]
        assert row == pytest.approx([expected.fmeasure, expected.precision, expected.recall], abs=1e-12)


def test_another_script_scores_0_and_the_caveat_says_so() -> None:
    declared, found = score("rouge_1", ["東京 は 大きい", "東京 big city"], [["東京 は 大きい"], ["東京 big city"]])
    assert list(found.scores) == [0.0, 1.0]
    assert "scores 0" in declared.caveat
