"""Is the first line the answer?  Of what is not reasoning, and without the white space around it."""

from __future__ import annotations

from collections.abc import Sequence

from fireassay.quality.scoring.extractors.support.visible import NO_ANSWER, lines, visible
from fireassay.quality.scoring.items import Extraction, Extractor


def extract(text: str, _: Sequence[str]) -> Extraction:
    """The first line that is not blank."""
    part = visible(text)
    if part is None:
        return NO_ANSWER
    begin, end = next(lines(text, *part))
    return Extraction(answer=text[begin:end], rule="first_line", begin=begin, end=end)


EXTRACTOR = Extractor(name="first_line", version=1, title="the first line", extract=extract)
