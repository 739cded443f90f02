"""Is a value of a condition shown as people read it, and in one line?"""

from __future__ import annotations

from typing import Any

import pytest

from fireassay.verdict.comparison.comparability import text_of


@pytest.mark.parametrize(
    ("value", "text"),
    [([], "(none)"), (["a", "b"], "a b"), ("", "(empty)"), (True, "yes"), (0.1 + 0.2, "0.3"), ({"b": 1, "a": 2}, '{"a": 2, "b": 1}')],
)
def test_a_value_is_written_for_people(value: object, text: str) -> None:
    assert text_of(value) == text


@pytest.mark.parametrize("value", ["a\nPASS: fine", ["a\n::error::x", "b"], "a\u2028b\r\x85c"])
def test_no_text_of_a_record_begins_a_line_of_its_own(value: Any) -> None:
    assert len(text_of(value).splitlines()) == 1
    assert text_of("a\nb") == r"a\nb"
