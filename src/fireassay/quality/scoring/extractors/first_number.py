"""Which number comes first?  In canonical notation: "$1,234.50" is 1234.5, "3/4" is 0.75, "42%" is 42."""

from __future__ import annotations

from collections.abc import Sequence

from fireassay.quality.scoring.extractors.support import numbers
from fireassay.quality.scoring.extractors.support.visible import NO_ANSWER, visible
from fireassay.quality.scoring.items import Extraction, Extractor


def extract(text: str, _: Sequence[str]) -> Extraction:
    """The first number of what is neither reasoning nor another question."""
    part = visible(text)
    number = numbers.first(text, *part) if part is not None else None
    if number is None:
        return NO_ANSWER
    return Extraction(answer=number.value, rule="first_number", begin=number.begin, end=number.end)


EXTRACTOR = Extractor(name="first_number", version=1, title="the first number", extract=extract)
