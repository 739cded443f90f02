"""What if the whole text is the answer?  It is, without the white space around it."""

from __future__ import annotations

from collections.abc import Sequence

from fireassay.scoring.items import Extraction, Extractor

NO_ANSWER = Extraction(answer=None, rule="none")


def extract(text: str, _: Sequence[str]) -> Extraction:
    """NO_ANSWER for white space only."""
    answer = text.strip()
    begin = text.find(answer)
    return Extraction(answer=answer, rule="whole", begin=begin, end=begin + len(answer)) if answer else NO_ANSWER


EXTRACTOR = Extractor(name="whole", version=1, title="the whole text", extract=extract)
