"""Is yes told from no?"""

from __future__ import annotations

import pytest

from fireassay.quality.scoring.scoring import extractor


@pytest.mark.parametrize(
    ("text", "answer", "rule"),
    [
        ("YES", "yes", "whole"),
        ("No, since", "no", "begins"),
        ("Hm. The answer is **yes**.", "yes", "stated"),
        ("That is false", "no", "mentioned"),
        ("yes or no?", None, "none"),
        ("yesterday", None, "none"),
    ],
)
def test_the_surest_mention_counts(text: str, answer: str | None, rule: str) -> None:
    found = extractor("yes_no").extract(text, ())
    assert (found.answer, found.rule) == (answer, rule)
