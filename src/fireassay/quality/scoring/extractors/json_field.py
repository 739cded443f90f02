"""What stands in the field "answer" of a JSON object?  Of the last object that has one, also inside of other text or of a code block."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

from fireassay.quality.scoring.extractors.support.visible import NO_ANSWER, visible
from fireassay.quality.scoring.items import Extraction, Extractor

_FIELD: Final = re.compile(r'"(?:answer|final_answer)"\s{0,16}:\s{0,16}', re.IGNORECASE)
MOST: Final = 10_000  # characters of a value
TRIED: Final = 8  # fields from the end, so that broken JSON costs no more than its length


def normalise(written: str) -> str:
    """The value as text: a text without its quotes, everything else as JSON."""
    value: Any = json.loads(written)
    return value.strip() if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def extract(text: str, _: Sequence[str]) -> Extraction:
    """The last value that is valid JSON and not empty."""
    part = visible(text)
    fields = list(_FIELD.finditer(text, *part)) if part is not None else []
    for field in reversed(fields[-TRIED:]):
        assert part is not None
        begin = field.end()
        try:
            _, length = json.JSONDecoder().raw_decode(text[begin : min(part[1], begin + MOST)])
            answer = normalise(text[begin : begin + length])
        except (ValueError, RecursionError):
            continue
        if answer and answer != "null":
            return Extraction(answer=answer, rule="json", begin=begin, end=begin + length)
    return NO_ANSWER


EXTRACTOR = Extractor(name="json_field", version=1, title='the field "answer" of a JSON object', extract=extract)
