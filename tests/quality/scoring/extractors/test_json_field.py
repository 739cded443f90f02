"""Is the answer's field found?"""

from __future__ import annotations

import pytest

from fireassay.quality.scoring.scoring import extractor


@pytest.mark.parametrize(
    ("text", "answer", "rule"),
    [
        ('{"answer": "a", "x": {"answer": ["b"]}}', '["b"]', "json"),
        ('{"Answer": true}', "true", "json"),
        ('{"answer": null}', None, "none"),
        ('{"final_answer" : "\\u0041"}', "A", "json"),
        (f'"answer": {"[" * 3000}', None, "none"),
    ],
)
def test_the_last_valid_field_counts(text: str, answer: str | None, rule: str) -> None:
    found = extractor("json_field").extract(text, ())
    assert (found.answer, found.rule) == (answer, rule)
