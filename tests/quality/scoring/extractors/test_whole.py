"""Is the whole text the answer, without reasoning?"""

from __future__ import annotations

import pytest

from fireassay.quality.scoring.scoring import extractor


@pytest.mark.parametrize(
    ("text", "answer", "rule"),
    [
        (" a\nQ: b ", "a\nQ: b", "whole"),
        ("<THINK>x</THINK> y", "y", "whole"),
        ("x</think>y", "y", "whole"),
        ("<think>x", None, "none"),
        ("y <think>x</think>", "y", "whole"),
    ],
)
def test_nothing_but_reasoning_and_white_space_is_left_out(text: str, answer: str | None, rule: str) -> None:
    found = extractor("whole").extract(text, ())
    assert (found.answer, found.rule) == (answer, rule)
