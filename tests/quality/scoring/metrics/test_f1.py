"""Token F1 against the official scripts of SQuAD 1.1 and 2.0."""

from __future__ import annotations

import math

import pytest
from hypothesis import given

from fireassay.errors import SpecError
from tests.quality.scoring.metrics.squad import ITEMS
from tests.quality.scoring.scored import items, metric, score, texts


@pytest.mark.parametrize(("answer", "references", "f1"), [(row[0], row[1], row[3]) for row in ITEMS])
def test_it_is_that_of_the_script_of_squad_2(answer: str, references: tuple[str, ...], f1: float) -> None:
    assert items("f1", [answer], [references]) == [pytest.approx(f1, abs=1e-15)]


@pytest.mark.parametrize(("answer", "references", "f1"), [(row[0], row[1], row[4]) for row in ITEMS if row[4] is not None])
def test_without_no_answer_it_is_that_of_the_script_of_squad_1(answer: str, references: tuple[str, ...], f1: float) -> None:
    assert items("f1", [answer], [references], no_answer=False) == [pytest.approx(f1, abs=1e-15)]


def test_squad_1_has_no_score_for_a_question_without_a_reference() -> None:
    assert math.isnan(items("f1", ["Paris"], [()], no_answer=False)[0])


def test_precision_and_recall_stand_beside_it() -> None:
    """Two of three words of the answer are the reference's two of four: P 2/3, R 1/2, F1 4/7."""
    _, found = score("f1", ["red green blue"], [["red green black white"]])
    assert found.rows[0] == pytest.approx([4 / 7, 2 / 3, 1 / 2])


@given(texts, texts)
def test_it_is_symmetric_and_within_its_scale(one: str, other: str) -> None:
    forth, back = items("f1", [one, other], [[other], [one]])
    assert forth == pytest.approx(back)
    assert 0.0 <= forth <= 1.0


def test_an_option_that_is_no_truth_value_is_refused() -> None:
    with pytest.raises(SpecError, match=r"f1\.no_answer.*true or false"):
        metric("f1", no_answer="yes")
