"""Is the content of the last box found?"""

from __future__ import annotations

import pytest

from fireassay.quality.scoring.scoring import extractor


@pytest.mark.parametrize(
    ("text", "answer", "rule"),
    [
        ("\\boxed{\\boxed{5}}", "5", "boxed"),
        ("\\boxed{\\{1, 2\\}}", "\\{1, 2\\}", "boxed"),
        ("\\boxed{}", None, "none"),
        ("\\fbox{a} }", "a", "boxed"),
        ("\\boxed{1,000}", "1000", "boxed"),
    ],
)
def test_the_last_closed_box_counts(text: str, answer: str | None, rule: str) -> None:
    found = extractor("boxed").extract(text, ())
    assert (found.answer, found.rule) == (answer, rule)
