"""Is the letter of the stated choice found?"""

from __future__ import annotations

import pytest

from fireassay.quality.scoring.scoring import extractor


@pytest.mark.parametrize(
    ("text", "answer", "rule"),
    [
        ("Answer: b", "B", "stated"),
        ("\\boxed{A}, so D", "A", "boxed"),
        ("I choose C", "C", "chosen"),
        ("C is the best one", "C", "judged"),
        ("Hm.\n(D)\nGood luck", "D", "lone"),
        ("It must be **B) cells**.", "B", "bold"),
        ("B) cells\nas said", "B", "first"),
        ("A) x\nB) y", None, "none"),
        ("I think (C)", "C", "bracketed"),
        ("Answer: B cells", None, "none"),
        ("ABCD", None, "none"),
    ],
)
def test_the_surest_statement_counts(text: str, answer: str | None, rule: str) -> None:
    found = extractor("choice_letter").extract(text, (" A", " B", " C", " D"))
    assert (found.answer, found.rule) == (answer, rule)
