"""Is a reference in the answer?"""

from __future__ import annotations

import math

from tests.quality.scoring.scored import items


def test_any_reference_in_the_answer_will_do() -> None:
    answers = ["It is PARIS, I think.", "It is Rome.", "a party", "so"]
    assert items("contains", answers, [["paris"], ["Paris", "Rome"], ["art"], ["Art", "o"]]) == [1.0, 1.0, 1.0, 1.0]


def test_whole_words_only_on_request_and_in_every_script() -> None:
    answers = ["a party", "art!", "the art of", "größer", "C++ is old"]
    assert items("contains", answers, [["art"], ["art"], ["art"], ["größe"], ["c++"]], words=True) == [0.0, 1.0, 1.0, 0.0, 1.0]


def test_case_counts_on_request() -> None:
    assert items("contains", ["PARIS"], [["Paris"]], lower=False) == [0.0]


def test_an_empty_reference_is_in_an_empty_answer_only() -> None:
    assert items("contains", ["", "x"], [[""], [" "]]) == [1.0, 0.0]
    assert math.isnan(items("contains", ["x"], [()])[0])
