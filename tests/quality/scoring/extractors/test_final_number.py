"""Is the stated number preferred to the last one?"""

from __future__ import annotations

import pytest

from fireassay.quality.scoring.scoring import extractor


@pytest.mark.parametrize(
    ("text", "answer", "rule"),
    [
        ("#### 1, or \\boxed{2}", "1", "hashes"),
        ("\\boxed{2} 3", "2", "boxed"),
        ("\\boxed{x} The answer is 4, not 5", "4", "stated"),
        ("the answer: $6", "6", "stated"),
        ("7 8", "8", "last_number"),
        ("none", None, "none"),
    ],
)
def test_the_surest_rule_counts(text: str, answer: str | None, rule: str) -> None:
    found = extractor("final_number").extract(text, ())
    assert (found.answer, found.rule) == (answer, rule)
