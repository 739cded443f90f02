"""Is the last number found?"""

from __future__ import annotations

import pytest

from fireassay.quality.scoring.scoring import extractor


@pytest.mark.parametrize(
    ("text", "answer", "rule"),
    [
        ("from 3 to 4", "4", "last_number"),
        ("1,2,3", "3", "last_number"),
        ("12/25/2020", "2020", "last_number"),
        ("1e999 m", "1e999", "last_number"),
        ("9/0", "9/0", "last_number"),
        ("4.0.", "4", "last_number"),
        ("1,23,45,678 rupees", "12345678", "last_number"),
    ],
)
def test_the_last_number_counts(text: str, answer: str | None, rule: str) -> None:
    found = extractor("last_number").extract(text, ())
    assert (found.answer, found.rule) == (answer, rule)
