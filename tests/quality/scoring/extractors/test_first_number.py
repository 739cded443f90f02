"""Is the first number found?"""

from __future__ import annotations

import pytest

from fireassay.quality.scoring.scoring import extractor


@pytest.mark.parametrize(
    ("text", "answer", "rule"),
    [
        ("from 3 to 4", "3", "first_number"),
        ("the 1st of 12", "12", "first_number"),
        ("2\\frac{1}{2} cups", "2.5", "first_number"),
        (".5 or 1", "0.5", "first_number"),
        ("12/25/2020", "12", "first_number"),
    ],
)
def test_the_first_number_counts(text: str, answer: str | None, rule: str) -> None:
    found = extractor("first_number").extract(text, ())
    assert (found.answer, found.rule) == (answer, rule)
