"""Which numbers stand in a text, and what are they in one canonical notation?

"1,234.50", "$1234.5", "1.2345e3", "−7" (with the sign U+2212), "3/4", "1 1/2", "\\frac{3}{4}".  Currency and per cent signs are left
out: "42%" is 42.  Canonical is the shortest decimal number, or the reduced fraction where decimals would not end; a number whose digits or
exponent are beyond use is kept as it is written.  A digit inside a word ("H2O") and an ordinal ("5th") are no numbers, and a dash
between two values ("16-3") is no sign.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

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
