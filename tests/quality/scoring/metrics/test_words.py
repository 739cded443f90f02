"""Exact match, containment and F1 of words; SQuAD's against the official scripts of 1.1 and 2.0."""

from __future__ import annotations

import math

import pytest
from hypothesis import given

from fireassay.errors import SpecError
from tests.quality.scoring.metrics.squad import ITEMS
from tests.quality.scoring.scored import items, metric, score, texts


def test_white_space_around_an_answer_does_not_count_and_any_reference_will_do() -> None:
    assert items("exact_match", [" 42\n", "42", "42.", ""], [["42"], ["41", "42"], ["42"], [""]]) == [1.0, 1.0, 0.0, 1.0]


def test_case_and_compatible_letters_count_unless_requested_otherwise() -> None:
    answers, references = ["Yes", "ﬁne", " a"], [["yes"], ["fine"], ["a"]]
    assert items("exact_match", answers, references) == [0.0, 0.0, 1.0]
    assert items("exact_match", answers, references, lower=True, nfkc=True, strip=False) == [1.0, 1.0, 0.0]


def test_exact_match_has_no_score_without_a_reference() -> None:
    assert math.isnan(items("exact_match", [""], [()])[0])


def test_any_reference_in_the_answer_will_do() -> None:
    answers = ["It is PARIS, I think.", "It is Rome.", "a party", "so"]
    assert items("contains", answers, [["paris"], ["Paris", "Rome"], ["art"], ["Art", "o"]]) == [1.0, 1.0, 1.0, 1.0]


def test_whole_words_only_on_request_and_in_every_script() -> None:
    answers = ["a party", "art!", "the art of", "größer", "C++ is old"]
    assert items("contains", answers, [["art"], ["art"], ["art"], ["größe"], ["c++"]], words=True) == [0.0, 1.0, 1.0, 0.0, 1.0]


def test_case_of_what_is_contained_counts_on_request() -> None:
    assert items("contains", ["PARIS"], [["Paris"]], lower=False) == [0.0]


def test_an_empty_reference_is_in_an_empty_answer_only() -> None:
    assert items("contains", ["", "x"], [[""], [" "]]) == [1.0, 0.0]
    assert math.isnan(items("contains", ["x"], [()])[0])


@pytest.mark.parametrize(("answer", "references", "exact"), [row[:3] for row in ITEMS])
def test_exact_match_is_that_of_the_official_script(answer: str, references: tuple[str, ...], exact: float) -> None:
    assert items("squad_exact_match", [answer], [references]) == [exact]


def test_compatible_letters_are_the_same_on_request() -> None:
    found = [items("squad_exact_match", ["ﬁne", "1９", "Ⅳ"], [["fine"], ["19"], ["iv"]], nfkc=nfkc) for nfkc in (False, True)]
    assert found == [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]
    assert "nfkc:yes" in metric("squad_exact_match", nfkc=True).prepared.signature


@pytest.mark.parametrize(("answer", "references", "f1"), [(row[0], row[1], row[3]) for row in ITEMS])
def test_f1_is_that_of_the_script_of_squad_2(answer: str, references: tuple[str, ...], f1: float) -> None:
    assert items("f1", [answer], [references]) == [pytest.approx(f1, abs=1e-15)]


@pytest.mark.parametrize(("answer", "references", "f1"), [(row[0], row[1], row[4]) for row in ITEMS if row[4] is not None])
def test_without_no_answer_f1_is_that_of_the_script_of_squad_1(answer: str, references: tuple[str, ...], f1: float) -> None:
    assert items("f1", [answer], [references], no_answer=False) == [pytest.approx(f1, abs=1e-15)]


def test_squad_1_has_no_score_for_a_question_without_a_reference() -> None:
    assert math.isnan(items("f1", ["Paris"], [()], no_answer=False)[0])


def test_precision_and_recall_stand_beside_f1() -> None:
    """Two of three words of the answer are the reference's two of four: P 2/3, R 1/2, F1 4/7."""
    _, found = score("f1", ["red green blue"], [["red green black white"]])
    assert found.rows[0] == pytest.approx([4 / 7, 2 / 3, 1 / 2])


@given(texts, texts)
def test_f1_is_symmetric_and_within_its_scale(one: str, other: str) -> None:
    forth, back = items("f1", [one, other], [[other], [one]])
    assert forth == pytest.approx(back)
    assert 0.0 <= forth <= 1.0


def test_an_option_that_is_no_truth_value_is_refused() -> None:
    with pytest.raises(SpecError, match=r"f1\.no_answer.*true or false"):
        metric("f1", no_answer="yes")


@pytest.mark.parametrize("name", ["exact_match", "contains", "accuracy"])
def test_an_accent_of_its_own_is_the_letter_with_the_accent(name: str) -> None:
    assert items(name, ["cafe\u0301", "caf\u00e9"], [["caf\u00e9"], ["cafe\u0301"]]) == [1.0, 1.0]
