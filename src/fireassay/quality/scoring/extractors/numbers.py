"""Which number is the answer: the first, the last, the one behind "####" or in a box, or the one that the text states?

In canonical notation: "$1,234.50" is 1234.5, "3/4" is 0.75, "42%" is 42.  `final_number` takes what the first of these rules finds: hashes, boxed,
behind the last "the answer is", last number.  The rule that found it is part of the result, so that it can be counted how often a model kept to
the asked notation.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from fireassay.quality.scoring.extractors.support import numbers
from fireassay.quality.scoring.extractors.support.visible import NO_ANSWER, Span, extractor, stripped
from fireassay.quality.scoring.items import Extraction

_HASHES: Final = re.compile(
    r"(?<!#)####(?!#)[ \t]{0,8}(?:(?:the[ \t])?(?:final[ \t])?answer(?:[ \t]is)?[ \t]?:?)?[ \t*`:=(\\\[]{0,8}", re.IGNORECASE
)
_HEADING: Final = re.compile(r"[ \t]?[.:)][ \t]{1,8}[^\s*]")
_PIECE: Final = re.compile(r"(?P<box>\\f?box(?:ed)?[ \t]?\{)|\\.|[{}]", re.DOTALL)
_WORDS: Final = re.compile(r"\\(?:text|textbf|mathrm|mathbf)\{([^{}]{0,500})\}")
_STATED: Final = re.compile(r"\banswer(?:[ \t]{1,4}is|[ \t]{0,4}:|[ \t]{0,4}=)[ \t*`:=(\\\[]{0,12}", re.IGNORECASE)


def _of(number: numbers.Number | None, rule: str) -> Extraction:
    return NO_ANSWER if number is None else Extraction(answer=number.value, rule=rule, begin=number.begin, end=number.end)


def _hashes(text: str, part: Span, _: Sequence[str]) -> Extraction:
    """The first number behind "####", the notation of GSM8K's own answers.

    As in the official scorer (openai/grade-school-math, `dataset.py`: `re.compile(r"#### (\\-?[0-9\\.\\,]+)")` with `search`).  Unlike there a
    heading of a list ("#### 1. Count the apples") is no answer.
    """
    begin, end = part
    for mark in _HASHES.finditer(text, begin, end):
        number = numbers.at(text, mark.end(), end)
        if number is not None and not _HEADING.match(text, number.end, end):
            return _of(number, "hashes")
    return NO_ANSWER


def unboxed(inside: str) -> str:
    r"""Without \text{} around words, dollar signs and spaces; numbers canonical."""
    plain = _WORDS.sub(r"\1", inside.strip()).replace("\\!", "").strip().strip("$").strip()
    return numbers.normalised(plain) or plain


def _boxed(text: str, part: Span, _: Sequence[str]) -> Extraction:
    """What stands in the last \\boxed{...} that is closed and not empty; of two in each other the inner one. A number is canonical."""
    best: Span | None = None
    opened: list[int | None] = []  # where the content of a box begins; None: another brace
    for piece in _PIECE.finditer(text, *part):
        if piece["box"] or piece[0] == "{":
            opened.append(piece.end() if piece["box"] else None)
        elif piece[0] == "}" and opened:
            begin = opened.pop()
            if begin is not None and (best is None or begin > best[0]) and unboxed(text[begin : piece.start()]):
                best = stripped(text, begin, piece.start())
    if best is None:
        return NO_ANSWER
    return Extraction(answer=unboxed(text[best[0] : best[1]]), rule="boxed", begin=best[0], end=best[1])


def _final_number(text: str, part: Span, choices: Sequence[str]) -> Extraction:
    hashes = _hashes(text, part, choices)
    if hashes.answer is not None:
        return hashes
    box = _boxed(text, part, choices)
    if box.answer is not None and numbers.normalised(box.answer) is not None:
        return box
    stated = [number for mark in _STATED.finditer(text, *part) if (number := numbers.at(text, mark.end(), part[1])) is not None]
    return _of(stated[-1], "stated") if stated else _of(numbers.last(text, *part), "last_number")


EXTRACTORS = (
    extractor("first_number", "the first number", lambda text, part, _: _of(numbers.first(text, *part), "first_number")),
    extractor("last_number", "the last number", lambda text, part, _: _of(numbers.last(text, *part), "last_number")),
    extractor("hashes", 'the number behind "####"', _hashes),
    extractor("boxed", r"the last \boxed{...}", _boxed),
    extractor("final_number", "the number stated as the answer, or the last", _final_number),
)
