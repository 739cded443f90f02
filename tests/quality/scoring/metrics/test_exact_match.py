"""Exact match, letter by letter."""

from __future__ import annotations

import math

from tests.quality.scoring.scored import items


def test_white_space_around_an_answer_does_not_count_and_any_reference_will_do() -> None:
    assert items("exact_match", [" 42\n", "42", "42.", ""], [["42"], ["41", "42"], ["42"], [""]]) == [1.0, 1.0, 0.0, 1.0]


def test_case_and_compatible_letters_count_unless_requested_otherwise() -> None:
    answers, references = ["Yes", "ﬁne", " a"], [["yes"], ["fine"], ["a"]]
    assert items("exact_match", answers, references) == [0.0, 0.0, 1.0]
    assert items("exact_match", answers, references, lower=True, nfkc=True, strip=False) == [1.0, 1.0, 0.0]


def test_an_item_without_a_reference_has_no_score() -> None:
    assert math.isnan(items("exact_match", [""], [()])[0])
