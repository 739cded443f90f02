"""Is the number behind four hashes found, and no heading?"""

from __future__ import annotations

import pytest

from fireassay.quality.scoring.scoring import extractor


@pytest.mark.parametrize(
    ("text", "answer", "rule"),
    [
        ("#### 1\n#### 2", "1", "hashes"),
        ("#### The answer is 3", "3", "hashes"),
        ("#### 2) Add\n#### 5 apples", "5", "hashes"),
        ("### 4", None, "none"),
        ("####\n4", None, "none"),
    ],
)
def test_the_first_number_behind_the_mark_counts(text: str, answer: str | None, rule: str) -> None:
    found = extractor("hashes").extract(text, ())
    assert (found.answer, found.rule) == (answer, rule)
