"""Is the first line the answer?"""

from __future__ import annotations

import pytest

from fireassay.quality.scoring.scoring import extractor


@pytest.mark.parametrize(
    ("text", "answer", "rule"),
    [
        ("\r\n a b \r\nc", "a b", "first_line"),
        ("Question: x?\nAnswer: y", "Question: x?", "first_line"),
        ("a<|eot_id|>b", "a", "first_line"),
        ("", None, "none"),
    ],
)
def test_the_first_line_with_words_counts(text: str, answer: str | None, rule: str) -> None:
    found = extractor("first_line").extract(text, ())
    assert (found.answer, found.rule) == (answer, rule)
