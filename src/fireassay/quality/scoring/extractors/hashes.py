"""Which number stands behind "####"?  The notation of GSM8K's own answers: "#### 42".

The first one counts, as in the official scorer (openai/grade-school-math, `dataset.py`: `re.compile(r"#### (\\-?[0-9\\.\\,]+)")`
with `search`).  Unlike there a heading of a list ("#### 1. Count the apples") is no answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from fireassay.quality.scoring.extractors.support import numbers
from fireassay.quality.scoring.extractors.support.visible import NO_ANSWER, Span, visible
from fireassay.quality.scoring.items import Extraction, Extractor

_MARK: Final = re.compile(
    r"(?<!#)####(?!#)[ \t]{0,8}(?:(?:the[ \t])?(?:final[ \t])?answer(?:[ \t]is)?[ \t]?:?)?[ \t*`:=(\\\[]{0,8}", re.IGNORECASE
)
_HEADING: Final = re.compile(r"[ \t]?[.:)][ \t]{1,8}[^\s*]")


def find(text: str, part: Span) -> Extraction:
    """The first number behind a mark, or NO_ANSWER."""
    begin, end = part
    for mark in _MARK.finditer(text, begin, end):
        number = numbers.at(text, mark.end(), end)
        if number is not None and not _HEADING.match(text, number.end, end):
            return Extraction(answer=number.value, rule="hashes", begin=number.begin, end=number.end)
    return NO_ANSWER


def extract(text: str, _: Sequence[str]) -> Extraction:
    """The first number behind "####"; NO_ANSWER without one, even if there are other numbers."""
    part = visible(text)
    return find(text, part) if part is not None else NO_ANSWER


EXTRACTOR = Extractor(name="hashes", version=1, title='the number behind "####"', extract=extract)
