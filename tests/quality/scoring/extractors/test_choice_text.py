"""Is the choice found that a text repeats?"""

from __future__ import annotations

import pytest

from fireassay.quality.scoring.scoring import extractor


@pytest.mark.parametrize(
    ("text", "answer", "rule"),
    [
        ("RED!", "red", "whole"),
        ("The answer is: dark red.", "dark red", "stated"),
        ("Red, because of rust", "red", "begins"),
        ("Let me see.\nblue", "blue", "last_line"),
        ("It looks dark red to me", "dark red", "mentioned"),
        ("not red but blue", "blue", "mentioned"),
        ("red and blue", None, "none"),
        ("reddish", None, "none"),
    ],
)
def test_the_surest_mention_counts(text: str, answer: str | None, rule: str) -> None:
    found = extractor("choice_text").extract(text, (" red", " dark red", " blue"))
    assert (found.answer, found.rule) == (answer, rule)
