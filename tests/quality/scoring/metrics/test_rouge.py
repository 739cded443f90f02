"""ROUGE against rouge-score's."""

from __future__ import annotations

from time import process_time

import pytest
from hypothesis import given
from rouge_score.rouge_scorer import RougeScorer

from tests.quality.scoring.scored import pairs, score, value
from tests.tiers import examples

TARGET, PREDICTION = "police killed the gunman.\nthe mayor spoke.", "the mayor spoke.\npolice kill the gunman."
THEIRS = {"rouge_1": "rouge1", "rouge_2": "rouge2", "rouge_l": "rougeL", "rouge_lsum": "rougeLsum"}
PUBLISHED = {"rouge_1": (0.857143, 1.0), "rouge_2": (0.5, 0.833333), "rouge_l": (0.428571, 0.571429), "rouge_lsum": (0.857143, 1.0)}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_values(name: str) -> None:
    found = [value(name, [PREDICTION], [[TARGET]], stem=stem) for stem in (False, True)]
    assert found == pytest.approx(PUBLISHED[name], abs=5e-7)


@pytest.mark.parametrize("stem", [False, True])
@pytest.mark.parametrize("name", THEIRS)
@examples(80)
@given(items=pairs)
def test_it_is_that_of_rouge_score(name: str, stem: bool, items: list[tuple[str, list[str]]]) -> None:
    theirs = RougeScorer([THEIRS[name]], use_stemmer=stem)
    _, found = score(name, [item[0] for item in items], [item[1] for item in items], stem=stem)
    for row, (answer, references) in zip(found.rows, items, strict=True):
        expected = theirs.score_multi(references, answer)[THEIRS[name]]
        assert row == pytest.approx([expected.fmeasure, expected.precision, expected.recall], abs=1e-12)


@pytest.mark.parametrize("name", THEIRS)
def test_another_script_scores_0_and_the_caveat_says_so(name: str) -> None:
    declared, found = score(name, ["東京 は 大きい", "東京 big city"], [["東京 は 大きい"], ["東京 big city"]])
    assert list(found.scores) == [0.0, 1.0]
    assert "scores 0" in declared.caveat


def test_two_texts_of_100_000_characters_take_seconds() -> None:
    """By the library's table: 400 million cells.  Every second word of the reference is in the answer."""
    words = [f"w{number % 4999}" for number in range(20_000)]
    begin = process_time()
    assert value("rouge_l", [" ".join(words[::2])], [[" ".join(words)]]) == pytest.approx(2 * 0.5 / 1.5)
    assert process_time() - begin < 30.0
