"""Is the whole text the answer, and white space none?"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fireassay.scoring.extractors.whole import EXTRACTOR


@given(st.text())
def test_the_span_holds_the_answer(text: str) -> None:
    found = EXTRACTOR.extract(text, ())
    assert (found.answer is None) == (not text.strip())
    assert text[found.begin : found.end] == (found.answer or "")
