"""Is the whole text the answer?  Yes: without the white space around it and without the model's reasoning; nothing else is left out."""

from __future__ import annotations

from collections.abc import Sequence

from fireassay.quality.scoring.extractors.support.visible import NO_ANSWER, visible
from fireassay.quality.scoring.items import Extraction, Extractor


def extract(text: str, _: Sequence[str]) -> Extraction:
    """NO_ANSWER for white space only, and for reasoning without an end."""
    part = visible(text, run_ons=False)
    if part is None:
        return NO_ANSWER
    begin, end = part
    return Extraction(answer=text[begin:end], rule="whole", begin=begin, end=end)


EXTRACTOR = Extractor(name="whole", version=2, title="the whole text", extract=extract)
