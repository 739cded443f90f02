"""Which number is the answer: the first, the last, the one behind "####" or in a box, or the one that the text states?

In canonical notation: "$1,234.50" is 1234.5, "3/4" is 0.75, "42%" is 42.  `final_number` takes what the first of these rules finds: hashes, boxed,
behind the last "the answer is" (also in other languages), the number of the last sentence that has one (`support/unstated.py`).  The rule that found
it is part of the result, so that it can be counted how often a model kept to the asked notation.  Of a stated sum that is carried out
("12 + 7 = 19") the result counts; a sum that is not, a range, a choice and a denial ("is not 5") state nothing, and are NO_ANSWER.

How numbers are written is in `support/numerals.py`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from fireassay.quality.scoring.extractors.support.numerals import Number, at, each, first, last, normalised
from fireassay.quality.scoring.extractors.support.unstated import BOUND, DENIED_AFTER, spelled, unstated
from fireassay.quality.scoring.extractors.support.visible import NO_ANSWER, Span, corrected, extractor, sentence_end, statements, stripped
from fireassay.quality.scoring.items import Extraction

_HASHES: Final = re.compile(
    r"(?<!#)####(?!#)[ \t]{0,8}(?:(?:the[ \t])?(?:final[ \t])?answer(?:[ \t]is)?[ \t]?:?)?[ \t*`:=(\\\[]{0,8}", re.IGNORECASE
)
_HEADING: Final = re.compile(r"[ \t]?[.:)][ \t]{1,8}[^\s*]")
_PIECE: Final = re.compile(r"(?P<box>\\f?box(?:ed)?[ \t]?\{)|\\.|[{}]", re.DOTALL)
_WORDS: Final = re.compile(r"\\(?:text|textbf|mathrm|mathbf)\{([^{}]{0,500})\}")
_UNIT: Final = re.compile(
    r"(?:\\[,;: ]|~|\s){0,3}\\(?:text|textrm|mathrm)\{[ ]?[^{}\d]{1,40}\}(?:\^\{?[23]\}?)?\s{0,3}\Z|\^\{?\\circ\}?\s{0,3}\Z"
)  # "14\text{ cm}"
_RATED: Final = re.compile(
    r"(\d{1,3})/(?:5|10|100)(?!\d|[ ]?(?!(?:stars?|points?|because|since|as|based)\b)[^\W\d_])"
)  # "8/10" is a grade of 8
_OPEN: Final = re.compile(r"(?:[ \t*`:=(\[$~≈]|\\[(\[]){0,12}")
_CALCULATED: Final = re.compile(
    r"[ \t\w$€£¥]{0,12}?[ \t)*]{0,4}(?:[+*/×÷·⋅−-]|\\times|\\cdot|\bx\b|\bplus\b|\bminus\b|\btimes\b)[ \t(]{0,4}[$€£¥]?\d"
    r"|\^\{?[-−]?\d|[²³]|![ ]?=|[ ](?:squared|cubed)\b"  # "2^10 = 1024"; "90^\circ" is 90
)
# Another value is stated as well: an alternative, the end of a range, or the rest of a quantity ("1 hour 20 minutes").
_OR: Final = re.compile(
    r"[ \t*]{0,4}(?:or|to|and|oder|bis|und|ou|à|et|o|y|e|или|до|и|或|から|または|[~～–—])[ \t*$]{0,4}\d"
    r"|[ ](?:hours?|hrs?|h|minutes?|mins?|days?|weeks?|months?|years?|feet|foot|ft|pounds?|lbs?|dollars?|euros?|Stunden?|heures?|horas?)"
    r",?[ ](?:(?:and|und|et|y)[ ])?\d",
    re.IGNORECASE,
)
_EQUATED: Final = re.compile(r"[^,;.()=≈\n]{0,30}[=≈]")  # the number may be the left side of an equation, or of a part of it
_SUM: Final = re.compile(r"[ \t$€£¥]{0,4}[\d.,]{1,20}[ \t]{0,4}(?:[+*/×÷·⋅−-]|\\times|\\cdot)")  # "5 = 2 + 3"
_REASON: Final = re.compile(r"\b(?:because|since|as|so|denn|weil|da|car|puisque|porque|pois|perché)\b", re.IGNORECASE)
_DENIED: Final = re.compile(r"\b(?:respuesta|resposta|risposta|réponse|ответ|antwort)[ ](?:no|não|non|не|n['’]est)[ ]?", re.IGNORECASE)
_OPEN_ENDED: Final = re.compile(
    r"\b(?:not|n['’]t|between|either|neither|sum|product|difference|nicht|kein|zwischen|pas|entre|no|não|non|tra|не|между)\b|不是|并非|之间|ではな|"
    + BOUND,
    re.IGNORECASE,
)


def _of(number: Number | None, rule: str) -> Extraction:
    """NO_ANSWER also where a reader cannot tell the number's value."""
    if number is None or number.value is None:
        return NO_ANSWER
    return Extraction(answer=number.value, rule=rule, begin=number.begin, end=number.end)


def _hashes(text: str, part: Span, _: Sequence[str]) -> Extraction:
    """The first number behind "####", the notation of GSM8K's own answers.

    As in the official scorer (openai/grade-school-math, `dataset.py`: `re.compile(r"#### (\\-?[0-9\\.\\,]+)")` with `search`).  Unlike there a
    heading of a list ("#### 1. Count the apples") is no answer.
    """
    begin, end = part
    for mark in _HASHES.finditer(text, begin, end):
        number = at(text, mark.end(), end)
        if number is not None and not _HEADING.match(text, number.end, end):
            return _of(number, "hashes")
    return NO_ANSWER


def _first_number(text: str, part: Span, _: Sequence[str]) -> Extraction:
    """Of a grade on a scale ("8/10") the grade."""
    number = first(text, *part)
    rated = _RATED.match(text, number.begin, part[1]) if number is not None else None
    if rated is not None:
        return Extraction(answer=str(int(rated[1])), rule="first_number", begin=rated.start(1), end=rated.end(1))
    return _of(number, "first_number")


def unboxed(inside: str) -> str:
    r"""Without \text{} around words, dollar signs and spaces; numbers canonical."""
    plain = _WORDS.sub(r"\1", inside.strip()).replace("\\!", "").strip().strip("$").strip()
    return normalised(plain) or normalised(_UNIT.sub("", inside)) or plain


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
    if box.answer is not None and normalised(box.answer) is not None:
        return box
    later = corrected(text, part)
    if later is not None and first(text, *later) is not None:
        part = later
    marks = list(statements(text, part))
    if first(text, *part) is None:  # the last statement, or the whole text
        place = marks[-1] if marks else part[0]
        opened = _OPEN.match(text, place, part[1])
        return _of(spelled(text, opened.end() if opened is not None else place, part[1]), "spelled")
    for mark, after in reversed(list(pairwise([*marks, part[1]]))):
        if (stated := _stated(text, mark, sentence_end(text, mark, after), part[1])) is not None:
            return stated
    return NO_ANSWER if _DENIED.search(text, *part) else _of(unstated(text, part), "last_number")


def _stated(text: str, mark: int, stop: int, end: int) -> Extraction | None:
    """What a statement gives whose sentence stops there: a number, NO_ANSWER if it is open, or None if it speaks of no number."""
    opened = _OPEN.match(text, mark, end)
    begin = opened.end() if opened is not None else mark
    number = at(text, begin, end)
    if number is None:
        named = each(text, begin, stop)
        if not named:
            return None
        if len(named) > 1 and not re.search(r"=[ \t$]{0,4}\Z", text[begin : named[-1].begin]):
            return NO_ANSWER
        return NO_ANSWER if _OPEN_ENDED.search(text, begin, named[-1].begin) else _of(named[-1], "stated")
    if _OR.match(text, number.end, end) or DENIED_AFTER.match(text, number.end, end):
        return NO_ANSWER
    calculated = _CALCULATED.match(text, number.end, end)
    if calculated is not None and not _REASON.search(calculated[0]):
        results = [found for found in each(text, number.end, stop) if re.search(r"[=≈][ \t*$€£¥]{0,4}\Z", text[begin : found.begin])]
        return _of(results[-1], "stated") if results else NO_ANSWER
    equated = _EQUATED.match(text, number.end, stop)
    if equated is not None and not _REASON.search(equated[0]):  # "3x = 12, x = 4"
        results = [found for found in each(text, number.end, stop) if found.value != number.value]
        return NO_ANSWER if results and not _SUM.match(text, equated.end(), stop) else _of(number, "stated")
    return _of(number, "stated")


EXTRACTORS = (
    extractor("first_number", "the first number", _first_number, version=3, plain=True),
    extractor("last_number", "the last number", lambda text, part, _: _of(last(text, *part), "last_number"), version=2, plain=True),
    extractor("hashes", 'the number behind "####"', _hashes, version=2, plain=True),
    extractor("boxed", r"the last \boxed{...}", _boxed, version=3),
    extractor(
        "final_number", "the number stated as the answer, or the only one of the last sentence", _final_number, version=3, plain=True
    ),
)
