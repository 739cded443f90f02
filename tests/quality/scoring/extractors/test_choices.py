"""Is the stated choice found, by its letter, its text, or as yes or no?"""

from __future__ import annotations

import pytest

from fireassay.quality.scoring.scoring import extractor

FOUND = {
    "choice_letter": [
        ("Answer: b", "B", "stated"),
        ("\\boxed{A}, so D", "A", "boxed"),
        ("I choose C", "C", "chosen"),
        ("C is the best one", "C", "judged"),
        ("Hm.\n(D)\nGood luck", "D", "lone"),
        ("It must be **B) cells**.", "B", "chosen"),
        ("Surely **B) cells**.", "B", "bold"),
        ("B) cells\nas said", "B", "first"),
        ("A) x\nB) y", None, "none"),
        ("I think (C)", "C", "bracketed"),
        ("Answer: B cells", None, "none"),
        ("ABCD", None, "none"),
    ],
    "choice_text": [
        ("RED!", "red", "whole"),
        ("The answer is: dark red.", "dark red", "stated"),
        ("Red, because of rust", "red", "begins"),
        ("Let me see.\nblue", "blue", "last_line"),
        ("It looks dark red to me", "dark red", "mentioned"),
        ("not red but blue", "blue", "mentioned"),
        ("red and blue", None, "none"),
        ("reddish", None, "none"),
    ],
    "yes_no": [
        ("YES", "yes", "whole"),
        ("No, since", "no", "begins"),
        ("Hm. The answer is **yes**.", "yes", "stated"),
        ("That is false", "no", "mentioned"),
        ("yes or no?", None, "none"),
        ("yesterday", None, "none"),
    ],
}
CHOICES = {"choice_letter": (" A", " B", " C", " D"), "choice_text": (" red", " dark red", " blue")}


@pytest.mark.parametrize(("name", "text", "answer", "rule"), [(name, *row) for name, rows in FOUND.items() for row in rows])
def test_the_surest_rule_counts(name: str, text: str, answer: str | None, rule: str) -> None:
    found = extractor(name).extract(text, CHOICES.get(name, ()))
    assert (found.answer, found.rule) == (answer, rule)
