"""Which choice's text does an answer repeat?  The choice as it is written in the data, without white space around it."""

from __future__ import annotations

from collections.abc import Sequence

from fireassay.quality.scoring.extractors.support import mentions
from fireassay.quality.scoring.extractors.support.visible import NO_ANSWER, visible
from fireassay.quality.scoring.items import Extraction, Extractor


def extract(text: str, choices: Sequence[str]) -> Extraction:
    """NO_ANSWER if no choice is named, and if several are and none is stated as the answer."""
    part = visible(text)
    words = {plain: plain for choice in choices if (plain := choice.strip()) and len(plain) <= mentions.MOST}
    return mentions.find(text, part, words) if part is not None and words else NO_ANSWER


EXTRACTOR = Extractor(name="choice_text", version=1, title="the text of a choice", extract=extract)
