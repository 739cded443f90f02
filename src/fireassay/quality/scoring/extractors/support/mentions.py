"""Which of several known words or sentences does a text give as its answer?

The whole text, what is stated behind "the answer is" (the last one that names a choice), the beginning of the first line, the last line,
and without those the only one that is mentioned at all.  The longest choice wins where one contains another ("not equivalent"), and a
denied one ("not positive") is not mentioned.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from fireassay.quality.scoring.extractors.support.visible import NO_ANSWER, Span, lines
from fireassay.quality.scoring.items import Extraction

_DECORATION: Final = " \t\r\n*_`\"'“”‘’.,;:!()[]{}$"
_ASKED: Final = re.compile(r"[ ]?(?:or\b|and\b|/)", re.IGNORECASE)  # "positive or negative?" answers nothing
_DENIED: Final = re.compile(r"(?:\bnot|\bneither|\bnor|\bnever|n['’]t)(?:[ ](?:a|an|the))?[ ]{1,2}\Z", re.IGNORECASE)
MAX_CHOICE: Final = 4000  # characters of a choice that is looked for
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


def pattern_of(words: Mapping[str, str]) -> re.Pattern[str]:
    """Finds any of the words; the longest first."""
    ordered = sorted((word for word in words if word), key=len, reverse=True)
    either = "|".join(rf"{re.escape(word)}" for word in ordered) or "(?!)"
    return re.compile(rf"(?<!\w)(?:{either})(?!\w)", re.IGNORECASE)


def find(text: str, part: Span, words: Mapping[str, str]) -> Extraction:
    """The answer for the word that is given; `words`: what may stand in the text -> the answer."""
    folded = {word.casefold(): answer for word, answer in words.items()}
    pattern = pattern_of(words)
    for rule, span in _places(text, part, pattern):
        found = pattern.match(text, *span)
        if found is None or _ASKED.match(text, found.end(), span[1]):
            continue
        if rule in ("stated", "begins") or _bare(text, found.end(), span[1]):
            answer = folded.get(found[0].casefold())
            if answer is not None:
                return Extraction(answer=answer, rule=rule, begin=found.start(), end=found.end())
    return _only(text, part, pattern, folded)


def _places(text: str, part: Span, pattern: re.Pattern[str]) -> Iterator[tuple[str, Span]]:
    """Where an answer may begin, the surest first."""
    yield "whole", _undecorated(text, part)
    stated, end = [], 0
    for at in statements(text, part):
        end = end if at <= end else _line_end(text, at, part[1])  # found once for a line of many statements
        span = _undecorated(text, (at, end))
        if pattern.match(text, *span):
            stated.append(span)
    yield from (("stated", span) for span in reversed(stated))
    rows = list(lines(text, *part))
    if rows:
        yield "begins", _undecorated(text, rows[0])
        yield "last_line", _undecorated(text, rows[-1])


def _line_end(text: str, at: int, end: int) -> int:
    stop = text.find("\n", at, end)
    return end if stop < 0 else stop


def _undecorated(text: str, span: Span) -> Span:
    begin, end = span
    while begin < end and text[begin] in _DECORATION:
        begin += 1
    return begin, end


def _bare(text: str, at: int, end: int) -> bool:
    """True if only decoration follows."""
    return end - at <= MAX_CHOICE and not text[at:end].strip(_DECORATION)


def _only(text: str, part: Span, pattern: re.Pattern[str], folded: Mapping[str, str]) -> Extraction:
    """The only answer that is mentioned, at its last mention."""
    best = NO_ANSWER
    for found in pattern.finditer(text, *part):
        answer = folded.get(found[0].casefold())
        if answer is None or _DENIED.search(text, max(part[0], found.start() - 16), found.start()):
            continue
        if best.answer is not None and best.answer != answer:
            return NO_ANSWER
        best = Extraction(answer=answer, rule="mentioned", begin=found.start(), end=found.end())
    return best
