"""Does a text say yes or no?  "True" and "correct" count as yes, "false" and "incorrect" as no."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fireassay.quality.scoring.extractors.support import mentions
from fireassay.quality.scoring.extractors.support.visible import NO_ANSWER, visible
from fireassay.quality.scoring.items import Extraction, Extractor

WORDS: Final = {"yes": "yes", "true": "yes", "correct": "yes", "no": "no", "false": "no", "incorrect": "no"}


def extract(text: str, _: Sequence[str]) -> Extraction:
    """Yes or no, in small letters."""
    part = visible(text)
    return mentions.find(text, part, WORDS) if part is not None else NO_ANSWER


EXTRACTOR = Extractor(name="yes_no", version=1, title="yes or no", extract=extract)
