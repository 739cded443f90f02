"""Which number is the answer: the first, the last, the one behind "####" or in a box, or the one that the text states?

In canonical notation: "$1,234.50" is 1234.5, "3/4" is 0.75, "42%" is 42.  `final_number` takes what the first of these rules finds: hashes, boxed,
behind the last "the answer is", last number.  The rule that found it is part of the result, so that it can be counted how often a model kept to
the asked notation.

Which numbers stand in a text, and what are they in one canonical notation?

"1,234.50", "$1234.5", "1.2345e3", "−7" (with the sign U+2212), "3/4", "1 1/2", "\frac{3}{4}".  Currency and per cent signs are left
out: "42%" is 42.  Canonical is the shortest decimal number, or the reduced fraction where decimals would not end; a number whose digits or
exponent are beyond use is kept as it is written.  A digit inside a word ("H2O") and an ordinal ("5th") are no numbers, and a dash
between two values ("16-3") is no sign.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from fireassay.quality.scoring.extractors.support.visible import NO_ANSWER, Span, extractor, stripped
from fireassay.quality.scoring.items import Extraction

MAX_DIGITS: Final = 200  # of a number that is computed with
_MINUS: Final = "-−﹣－"
_GROUP: Final = r"(?:,|\{,\}|\\,|\u202f|\u2009|\u00a0)"
_WHOLE: Final = rf"(?:\d{{1,3}}(?:{_GROUP}\d{{3}}(?!\d))++|\d{{1,2}}(?:,\d{{2}}(?!\d))++,\d{{3}}(?!\d)|\d++)"
_POWER: Final = rf"(?:[eE][{_MINUS}+]?\d{{1,9}}(?![\d\w])|\s?(?:×|x|\\times|\\cdot|\*)\s?10\s?\^\s?\{{?[{_MINUS}+]?\d{{1,9}}\}}?)"
# A look ahead: most signs, as those of a ruled line, begin no number, and each of the forms below would try it.
_BEGINS: Final = rf"(?=[{_MINUS}+]?+(?:\\?[$€£¥₹]\s?)?+[{_MINUS}+]?+(?:\\[dt]?frac\{{\s?|\.)?+\d)"
_NUMBER: Final = re.compile(
    rf"{_BEGINS}(?P<sign>[{_MINUS}+])?(?P<money>\\?[$€£¥₹]\s?)?(?P<inner>[{_MINUS}+])?"
    rf"(?:(?:(?<!\w)(?P<part>\d{{1,200}}+)\s?)?\\[dt]?frac\{{\s?(?P<over>\d{{1,200}})\s?\}}\{{\s?(?P<under>\d{{1,200}})\s?\}}"
    rf"|(?<![\w/])(?:(?P<units>\d{{1,200}}+)[ ](?=\d{{1,200}}+/\d))?(?P<top>\d{{1,200}}+)/(?P<bottom>\d{{1,200}}+)(?![\d/])"
    rf"|(?<!\w)(?P<whole>{_WHOLE})(?P<decimals>\.\d++)?(?P<power>{_POWER})?"
    rf"|(?<![\w.])(?P<point>\.\d++)(?P<scale>{_POWER})?)"
)
_ORDINAL: Final = re.compile(r"(?:st|nd|rd|th)\b", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Number:
    """A number in a text, and its canonical notation."""

    begin: int
    end: int
    value: str


def first(text: str, begin: int, end: int) -> Number | None:
    return next((_number(text, found, begin) for found in _numbers(text, begin, end)), None)


def last(text: str, begin: int, end: int) -> Number | None:
    found = None
    for found in _numbers(text, begin, end):  # noqa: B007
        pass
    return None if found is None else _number(text, found, begin)


def at(text: str, begin: int, end: int) -> Number | None:
    found = _NUMBER.match(text, begin, end)
    return None if found is None or _ORDINAL.match(text, found.end()) else _number(text, found, begin)


def _numbers(text: str, begin: int, end: int) -> Iterator[re.Match[str]]:
    return (found for found in _NUMBER.finditer(text, begin, end) if not _ORDINAL.match(text, found.end()))


def _number(text: str, found: re.Match[str], begin: int) -> Number:
    signed = found["sign"] is not None and not _between(text, found.start(), begin)
    left = found.start() if signed or found["sign"] is None else found.start() + 1
    return Number(begin=left, end=found.end(), value=_canonical(found, signed))


def normalised(text: str) -> str | None:
    """The canonical notation of a text that is nothing but a number, decorated at most; None if it is not."""
    plain = text.strip().strip("*`").strip().rstrip(".").removesuffix("%").removesuffix("\\").strip()
    bare = plain[1:-1].strip() if len(plain) > 2 and plain[0] == plain[-1] == "$" else plain
    number = at(bare, 0, len(bare))
    return number.value if number is not None and (number.begin, number.end) == (0, len(bare)) else None


def _between(text: str, at: int, begin: int) -> bool:
    """True if the sign at this position stands between two values."""
    before = text[at - 1] if at > begin else " "
    return before.isalnum() or before in ")]}%_"


def _canonical(found: re.Match[str], signed: bool) -> str:
    minus = (found["sign"] in tuple(_MINUS) and signed) != (found["inner"] is not None and found["inner"] in tuple(_MINUS))
    if found["over"] is not None:
        return _fraction(int(found["part"] or 0), found["over"], found["under"], minus)
    if found["top"] is not None:
        return _fraction(int(found["units"] or 0), found["top"], found["bottom"], minus)
    digits = re.sub(r"\D", "", found["whole"] or "0")
    decimals = (found["decimals"] or found["point"] or ".")[1:]
    power = _exponent(found["power"] or found["scale"])
    if max(len(digits), len(decimals), abs(power)) > MAX_DIGITS:
        tail = f".{decimals}" if decimals else ""
        return f"{'-' if minus else ''}{digits.lstrip('0') or '0'}{tail}{f'e{power}' if power else ''}"
    value = Fraction(int(digits + decimals or "0")) * Fraction(10) ** (power - len(decimals))
    return _written(-value if minus else value)


def _fraction(units: int, top: str, bottom: str, minus: bool) -> str:
    if int(bottom) == 0:
        return f"{'-' if minus else ''}{int(top)}/0"
    value = units + Fraction(int(top), int(bottom))
    return _written(-value if minus else value)


def _exponent(text: str | None) -> int:
    if not text:
        return 0
    plain = text.rstrip("}").translate({ord(sign): "-" for sign in _MINUS})
    return int(re.split(r"[eE^{]", plain)[-1].strip())


def _written(value: Fraction) -> str:
    """The shortest decimal number, or the reduced fraction if its decimals do not end."""
    twos = fives = 0
    rest = value.denominator
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest != 1:
        return f"{value.numerator}/{value.denominator}"
    places = max(twos, fives)
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    text = f"{digits[:-places]}.{digits[-places:]}" if places else digits
    return f"-{text}" if value < 0 else text


_HASHES: Final = re.compile(
    r"(?<!#)####(?!#)[ \t]{0,8}(?:(?:the[ \t])?(?:final[ \t])?answer(?:[ \t]is)?[ \t]?:?)?[ \t*`:=(\\\[]{0,8}", re.IGNORECASE
)
_HEADING: Final = re.compile(r"[ \t]?[.:)][ \t]{1,8}[^\s*]")
_PIECE: Final = re.compile(r"(?P<box>\\f?box(?:ed)?[ \t]?\{)|\\.|[{}]", re.DOTALL)
_WORDS: Final = re.compile(r"\\(?:text|textbf|mathrm|mathbf)\{([^{}]{0,500})\}")
_STATED: Final = re.compile(r"\banswer(?:[ \t]{1,4}is|[ \t]{0,4}:|[ \t]{0,4}=)[ \t*`:=(\\\[]{0,12}", re.IGNORECASE)


def _of(number: Number | None, rule: str) -> Extraction:
    return NO_ANSWER if number is None else Extraction(answer=number.value, rule=rule, begin=number.begin, end=number.end)


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


def unboxed(inside: str) -> str:
    r"""Without \text{} around words, dollar signs and spaces; numbers canonical."""
    plain = _WORDS.sub(r"\1", inside.strip()).replace("\\!", "").strip().strip("$").strip()
    return normalised(plain) or plain


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
    stated = [number for mark in _STATED.finditer(text, *part) if (number := at(text, mark.end(), part[1])) is not None]
    return _of(stated[-1], "stated") if stated else _of(last(text, *part), "last_number")


EXTRACTORS = (
    extractor("first_number", "the first number", lambda text, part, _: _of(first(text, *part), "first_number")),
    extractor("last_number", "the last number", lambda text, part, _: _of(last(text, *part), "last_number")),
    extractor("hashes", 'the number behind "####"', _hashes),
    extractor("boxed", r"the last \boxed{...}", _boxed),
    extractor("final_number", "the number stated as the answer, or the last", _final_number),
)
