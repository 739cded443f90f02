"""Which number is the final answer?  Behind "####", in the last \\boxed{}, behind the last "the answer is", or else the last one.

The rule that found it is part of the result, so that it can be counted how often a model kept to the asked notation.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from fireassay.quality.scoring.extractors import boxed, hashes
from fireassay.quality.scoring.extractors.support import numbers
from fireassay.quality.scoring.extractors.support.visible import NO_ANSWER, Span, visible
from fireassay.quality.scoring.items import Extraction, Extractor

_STATED: Final = re.compile(r"\banswer(?:[ \t]{1,4}is|[ \t]{0,4}:|[ \t]{0,4}=)[ \t*`:=(\\\[]{0,12}", re.IGNORECASE)


def _stated(text: str, part: Span) -> Extraction:
    last = NO_ANSWER
    for mark in _STATED.finditer(text, *part):
        number = numbers.at(text, mark.end(), part[1])
        if number is not None:
            last = Extraction(answer=number.value, rule="stated", begin=number.begin, end=number.end)
    return last


def _boxed(text: str, part: Span) -> Extraction:
    box = boxed.find(text, part)
    return box if box.answer is not None and numbers.normalised(box.answer) is not None else NO_ANSWER


def extract(text: str, _: Sequence[str]) -> Extraction:
    """The number that the first of these rules finds: hashes, boxed, stated, last_number."""
    part = visible(text)
    if part is None:
        return NO_ANSWER
    for rule in (hashes.find, _boxed, _stated):
        found = rule(text, part)
        if found.answer is not None:
            return found
    number = numbers.last(text, *part)
    return NO_ANSWER if number is None else Extraction(answer=number.value, rule="last_number", begin=number.begin, end=number.end)


EXTRACTOR = Extractor(name="final_number", version=1, title="the number stated as the answer, or the last", extract=extract)
