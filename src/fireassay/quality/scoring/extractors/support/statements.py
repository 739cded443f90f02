"""Where does a text say what its answer is?  The places behind "the answer is", with the decoration that models put between."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from fireassay.quality.scoring.extractors.support.visible import Span

# What stands between the statement and the answer: "is", "should be:", "is **(", "is option".
_BETWEEN: Final = r"(?:[ \t]{1,4}(?:is|was|would[ ]be|should[ ]be|must[ ]be|will[ ]be)\b)?"
_STATED: Final = re.compile(
    rf"\b(?:answer|choice|option|solution|label|conclusion)\b(?:[ \t]to[ \t](?:this|the|your)[ \t]question)?(?:\*\*)?{_BETWEEN}"
    r"(?P<mark>[ \t]{0,4}[:=])?(?:\*\*)?(?:[ \t]{0,4}\n)?[ \t]{0,8}(?:(?:the[ \t])?(?:option|choice|letter)\b"
    r"(?![ \t]{1,4}(?:is|was|would|should|must|will)\b|[ \t]{0,4}[:=])[ \t]{0,4})?",
    re.IGNORECASE,
)


def statements(text: str, part: Span) -> Iterator[int]:
    """Where an answer is stated: the positions behind "Answer:", "the answer is" and the like, in order."""
    for found in _STATED.finditer(text, *part):
        if found["mark"] or re.search(r"\b(?:is|was|be)\b", found[0], re.IGNORECASE):
            yield found.end()
