r"""Which numbers stand in a text, and what are they in one canonical notation?

"1,234.50", "1.234,50", "1 234", "$1234.5", "1.2345e3", "−7" (with the sign U+2212), "3/4", "1 1/2", "\frac{3}{4}", "1.2 million", "3万".  Currency and
per cent signs are left out: "42%" is 42.  Canonical is the shortest decimal number, or the reduced fraction where decimals would not end; a number
whose digits or exponent are beyond use is kept as it is written.  A digit inside a word ("H2O") and an ordinal ("5th", "第5") are no numbers, and a
dash between two values ("16-3") is no sign.  Chinese, Japanese and Korean are written without spaces, so a number may touch their letters.

"1.234" is 1234 in languages with a decimal comma and 1.234 in others: the text's words and its other numbers tell which.  Where they do not, and
of dates, times and versions ("10:30", "1.2.3"), the value is None: a reader cannot tell it either.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from typing import Final, Literal
from unicodedata import normalize, numeric

from fireassay.quality.scoring.extractors.support.visible import LETTER

MAX_DIGITS: Final = 200  # of a number that is computed with
MAX_READ: Final = 20_000  # characters that tell the language
_MINUS: Final = "-−﹣－"
_SEPARATOR: Final = r"(?:\{,\}|\\,|[.,'’:٫٬ \u202f\u2009\u00a0])"
_RAISED: Final = "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"
_VULGAR: Final = "¼-¾⅐-⅞"
_POWER: Final = rf"(?:[eE][{_MINUS}+]?\d{{1,9}}(?![\d\w])|\s?(?:×|x|\\times|\\cdot|\*)\s?10(?:\s?\^\s?\{{?[{_MINUS}+]?\d{{1,9}}\}}?|[{_RAISED}]{{1,9}}))"
# A look ahead: most signs, as those of a ruled line, begin no number, and each of the forms below would try it.
_BEGINS: Final = rf"(?=[{_MINUS}+]?+(?:\\?[$€£¥₹]\s?)?+[{_MINUS}+]?+(?:\\[dt]?frac\{{?\s?|\.)?+[\d{_VULGAR}])"
_NUMBER: Final = re.compile(
    rf"{_BEGINS}(?P<sign>[{_MINUS}+])?(?P<money>\\?[$€£¥₹]\s?)?(?P<inner>[{_MINUS}+])?"
    rf"(?:(?:(?<!{LETTER})(?P<part>\d{{1,200}}+)\s?)?\\[dt]?frac\{{\s?(?P<over>\d{{1,200}})\s?\}}\{{\s?(?P<under>\d{{1,200}})\s?\}}"
    rf"|\\[dt]?frac[ ]?(?P<upper>\d)[ ]?(?P<lower>\d)|(?:(?<!{LETTER})(?P<wholes>\d{{1,200}}+)[ ]?)?(?P<vulgar>[{_VULGAR}])"
    rf"|(?<!{LETTER})(?<!/)(?:(?P<units>\d{{1,200}}+)[ ](?=\d{{1,200}}+/\d))?(?P<top>\d{{1,200}}+)/(?P<bottom>\d{{1,200}}+)(?![\d/])"
    rf"|(?:(?<!{LETTER})|(?<=Rp)|(?<=Rs)|(?<=USD)|(?<=EUR)|(?<=CHF))(?<!\d[.,:])(?P<run>\d++(?:{_SEPARATOR}\d++)*+)(?P<power>{_POWER})?"
    rf"|(?<!{LETTER})(?<!\.)(?P<point>\.\d++)(?P<scale>{_POWER})?)"
)
_ORDINAL: Final = re.compile(r"(?:st|nd|rd|th)\b", re.IGNORECASE)
_NO_NUMBER: Final = re.compile(r"第\Z|[^\W\d_]\^\{?\Z")  # "第5", "12 cm^2"
_NEGATIVE: Final = re.compile(
    r"(?<!\d)(?<!\d )(?:(?<!\bau )(?<!\bal )(?<!pelo )(?<!por lo )(?<!\bo )(?<!\bou )\b(?:minus|negative|moins|menos|meno|минус) |マイナス|负|負|零下)\Z",
    re.IGNORECASE,
)
_SCALES: Final = {
    12: (r"trillions?|Billionen|billones|триллион\w{0,2}", ""),
    9: (r"billions?|Milliarden?|Mrd|milliards?|mil[ ]millones|miliard[io]|milyar|миллиард\w{0,2}|млрд|مليار", ""),
    8: ("", "[亿億억]"),
    7: (r"crore|करोड़", ""),
    6: (r"millions?|Millionen|Mio|mill[oó]n(?:es)?|milh(?:ão|ões)|milion[ei]|milyon|миллион\w{0,2}|млн|juta|triệu|مليون", ""),
    5: (r"lakh|लाख", ""),
    4: ("", "[万萬만]"),
    3: (r"thousand|tausend|mil|mila|тыс(?:яч\w?)?|ribu|हज़ार|ألف|آلاف", "千(?![克米瓦卡赫字])|천"),
    2: ("hundred", ""),
}
_SCALE: Final = re.compile(
    r"[ \u00a0]?(?:"
    + "|".join(
        f"(?P<e{power}>{'|'.join(filter(None, (word and f'(?:{word})(?![^ -~]|[a-z])', sign)))})" for power, (word, sign) in _SCALES.items()
    )
    + ")",
    re.IGNORECASE,
)
_SHORT: Final = re.compile(r"(?:[kKmMbB]|[bB]n)\b")  # "$1K"; elsewhere "5K" and "5m" are also units
_POWERS: Final = {"k": 3, "m": 6, "b": 9, "bn": 9}
_SIGNS: Final = "百千万萬亿億백천만억"
# Of "3千万", "1만 2천", "3万5", "3百", "1_000" and "0x10" no part is the number.
_GOES_ON: Final = re.compile(
    rf"(?<=[{_SIGNS}])(?:[{_SIGNS}]|\d|[ ]\d[\d,.]*[{_SIGNS}])|(?<=\d)(?:[百백](?![分货貨度화])|_\d)|(?<=(?<!\d)0)[xXbB][\da-fA-F]"
)
_GONE_BEFORE: Final = re.compile(rf"\d[{_SIGNS}]{{1,2}}(?P<blank>[ ]?)\Z")
Part = tuple[int, int, str | None]  # begin and end in a run, and the digits
Convention = Literal["", "point", "comma", "comma only", "mixed", "unknown"]
_ENGLISH: Final = re.compile(
    r"\b(?:the|and|of|answer|are|has|with|was|is|so|it|about|approximately|around|total|result|equals|value|per|from|for|on|this|that|they|he|she|we|you|"
    r"at|by|therefore|thus|final|length|distance|time|score|rate|mean|average|speed|price|cost)\b",
    re.IGNORECASE,
)
_WORDS: Final = re.compile(r"[^\W\d_]{4,}[^=<>]{1,40}\b[^\W\d_]{3,}")
_OTHERS: Final = re.compile(  # words of languages with a decimal comma
    r"\b(?:ist|und|der|das|nicht|insgesamt|sind|beträgt|kostet|wurden|Antwort|lautet|Ergebnis|Preis|braucht|bekommt|est|une|des|les|réponse|coûte|donc|"
    r"ils|lui|el|los|las|una|respuesta|cuesta|necesita|resultado|por|uma|foram|resposta|não|são|ela|il|sono|risposta|resto|è|ci|stati|risultato|het|een|"
    r"antwoord|jest|odpowiedź|toplam|cevap|saat|adalah|jawaban|svaret)\b|\bRp|[а-я]{2}",
    re.IGNORECASE,
)
_COMMA: Final = re.compile(r"\d\.\d{3},\d|(?<![\d.])\d{1,3}(?:\.\d{3}){2}(?!\d)|(?<![\d,(\[])\d{1,4},\d{1,2}(?![\d,)\]])")
_POINT: Final = re.compile(r"\d,\d{3}\.\d|(?<![\d,])\d{1,3}(?:,\d{3}){2}(?!\d)|(?<![\d.])\d{1,4}\.\d{1,2}(?![\d.])")


@dataclass(frozen=True, kw_only=True, slots=True)
class Number:
    """A number in a text, and its canonical notation; None: nobody can tell its value."""

    begin: int
    end: int
    value: str | None


def first(text: str, begin: int, end: int) -> Number | None:
    return next(_numbers(text, begin, end), None)


def last(text: str, begin: int, end: int) -> Number | None:
    found = None
    for found in _numbers(text, begin, end):  # noqa: B007
        pass
    return found


def at(text: str, begin: int, end: int) -> Number | None:
    found = _NUMBER.match(text, begin, end)
    return None if found is None or _ORDINAL.match(text, found.end()) else next(_read(text, found, begin))


def each(text: str, begin: int, end: int) -> list[Number]:
    return list(_numbers(text, begin, end))


def normalised(text: str) -> str | None:
    """The canonical notation of a text that is nothing but a number, decorated at most; None if it is not."""
    plain = text.strip().strip("*`").strip().rstrip(".").removesuffix("%").removesuffix("\\").strip()
    bare = plain[1:-1].strip() if len(plain) > 2 and plain[0] == plain[-1] == "$" else plain
    number = at(bare, 0, len(bare))
    return number.value if number is not None and (number.begin, number.end) == (0, len(bare)) else None


def _numbers(text: str, begin: int, end: int) -> Iterator[Number]:
    for found in _NUMBER.finditer(text, begin, end):
        if not _ORDINAL.match(text, found.end()) and not _NO_NUMBER.search(text, max(begin, found.start() - 3), found.start()):
            yield from _read(text, found, begin)


def _read(text: str, found: re.Match[str], begin: int) -> Iterator[Number]:
    """The numbers of a match: one, or several where they are written without spaces, as in "1,2,3"."""
    signed = found["sign"] is not None and not _between(text, found.start(), begin)
    left = found.start() if signed or found["sign"] is None else found.start() + 1
    minus = (found["sign"] in tuple(_MINUS) and signed) != (found["inner"] is not None and found["inner"] in tuple(_MINUS))
    if found["sign"] is None and (word := _NEGATIVE.search(text, max(begin, left - 10), left)):
        left, minus = word.start(), not minus
    if (fraction := _fraction(found, minus)) is not None:
        yield Number(begin=left, end=found.end(), value=fraction)
        return
    power = _exponent(found["power"] or found["scale"])
    scale = _SCALE.match(text, found.end()) if not found["power"] and not found["scale"] else None
    money = found["money"] or (found.start() and text[found.start() - 1] in "$€£¥₹")
    short = _SHORT.match(text, found.end()) if money and scale is None else None
    end = (scale or short or found).end()
    power += _POWERS[short[0].lower()] if short is not None else 0
    run, point = found["run"], found["point"]
    parts: list[Part] = [(0, len(point), f"0{point}")] if run is None else list(_parts(text, run, 0))
    for index, (start, stop, digits) in enumerate(parts):
        final, at_start = index == len(parts) - 1, left if index == 0 else found.start("run") + start
        value = None if digits is None else _canonical(digits, power + _zeros(scale) if final else 0, minus and index == 0)
        if (final and _GOES_ON.match(text, end)) or (index == 0 and _is_rest(text, left, end)):
            value = None
        yield Number(begin=at_start, end=end if final else found.start("run") + stop, value=value)


def _is_rest(text: str, begin: int, end: int) -> bool:
    """True if this is the second part of a number in parts: "2천" of "1만 2천"."""
    before = _GONE_BEFORE.search(text, max(0, begin - 4), begin)
    return before is not None and (not before["blank"] or text[end - 1] in _SIGNS)


def _between(text: str, at: int, begin: int) -> bool:
    """True if the sign at this position stands between two values."""
    before = text[at - 1] if at > begin else " "
    if before.isalnum() and not re.match(LETTER, before):
        return text[at - 2 : at - 1].isdigit()  # "3个-5个"
    return before.isalnum() or before in ")]}%_"


def _zeros(scale: re.Match[str] | None) -> int:
    return int((scale.lastgroup or "e0")[1:]) if scale is not None else 0


# ---- digits with separators ------------------------------------------------------------------------------------------

_KINDS: Final = {"{,}": ",", "\\,": ",", "٫": "d", "٬": "'", "’": "'", "\u202f": "'", "\u2009": "'", "\u00a0": "'"}


def _parts(text: str, run: str, begin: int) -> Iterator[Part]:
    """Where each number stands in the run, and its digits with a decimal point; None: it can be read in two ways, or is a date or a time."""
    marks = [(mark.start(), mark.end(), _KINDS.get(mark[0], mark[0])) for mark in re.finditer(_SEPARATOR, run)]
    kinds = [kind for _, _, kind in marks]
    digits = _one(text, re.split(_SEPARATOR, run), kinds)
    if digits != "":
        yield begin, begin + len(run), digits
        return
    weakest = next(kind for kind in (" ", ",", "'", kinds[0]) if kind in kinds)
    start = 0
    for stop, after in (*((stop, after) for stop, after, kind in marks if kind == weakest), (len(run), len(run))):
        yield from _parts(text, run[start:stop], begin + start)
        start = after


def _one(text: str, groups: list[str], kinds: list[str]) -> str | None:
    """The digits of all groups as one number; empty: they are several; None: nobody can tell."""
    if not kinds:
        return groups[0]
    whole, thousands = "".join(groups), 1 <= len(groups[0]) <= 3 and int(groups[0]) > 0
    even = thousands and all(len(group) == 3 for group in groups[1:])
    if len(set(kinds)) > 1:
        return _mixed(groups, kinds, thousands)
    kind, several = kinds[0], len(kinds) > 1
    if kind == ",":
        indian = several and len(groups[0]) < 3 and len(groups[-1]) == 3 and all(len(group) == 2 for group in groups[1:-1])
        return whole if indian or (even and several) else "" if several else _comma(text, groups, even)
    if kind == ".":
        return (whole if even else None) if several else _dot(text, groups, even)
    if kind == " ":
        unsure = len(groups[0]) == 3 and convention(text) not in ("comma", "comma only", "mixed")
        return "" if not even else None if unsure else whole
    if kind == "d":
        return None if several else ".".join(groups)
    return (whole if even else "") if kind == "'" else None


def _mixed(groups: list[str], kinds: list[str], thousands: bool) -> str | None:
    """Thousands and decimals with marks of their own: "1.234,50", "1 234,5"."""
    even = thousands and all(len(group) == 3 for group in groups[1:-1])
    if even and kinds[-1] in (",", ".", "d") and len(set(kinds[:-1])) == 1 and kinds[0] in (",", ".", " ", "'"):
        return f"{''.join(groups[:-1])}.{groups[-1]}"
    return "" if {" ", ","} & set(kinds) else None


def _comma(text: str, groups: list[str], even: bool) -> str | None:
    found = convention(text)
    if even:
        return {"comma only": ".".join(groups), "comma": None}.get(found, "".join(groups))
    return None if found == "point" and groups[0].strip("0") else ".".join(groups)


def _dot(text: str, groups: list[str], even: bool) -> str | None:
    if not even:
        return ".".join(groups)
    found = convention(text)
    return {"comma only": "".join(groups), "comma": "".join(groups), "mixed": None, "unknown": None}.get(found, ".".join(groups))


@lru_cache(maxsize=4)
def convention(text: str) -> Convention:
    """Which decimal mark the text uses, by its words and by its other numbers; "": there are no words, and it is read as English."""
    known = text[:MAX_READ]
    english, others = (sum(1 for _ in islice(words.finditer(known), 100)) for words in (_ENGLISH, _OTHERS))
    if english > others:
        return "point"
    comma, point = _COMMA.search(known) is not None, _POINT.search(known) is not None
    if others > english:
        return "mixed" if point else "comma only" if comma else "comma"
    if comma and not point:
        return "comma only"
    return "unknown" if not english and not point and _WORDS.search(known) else ""


# ---- values ----------------------------------------------------------------------------------------------------------


def _canonical(digits: str, power: int, minus: bool) -> str:
    whole, _, decimals = digits.partition(".")
    if max(len(whole), len(decimals), abs(power)) > MAX_DIGITS:
        tail = f".{decimals}" if decimals else ""
        return f"{'-' if minus else ''}{whole.lstrip('0') or '0'}{tail}{f'e{power}' if power else ''}"
    value = Fraction(int(whole + decimals or "0")) * Fraction(10) ** (power - len(decimals))
    return _written(-value if minus else value)


def _fraction(found: re.Match[str], minus: bool) -> str | None:
    if found["vulgar"] is not None:
        value = int(found["wholes"] or 0) + Fraction(numeric(found["vulgar"])).limit_denominator(10)
        return _written(-value if minus else value)
    forms = (("part", "over", "under"), ("units", "top", "bottom"), ("part", "upper", "lower"))
    form = next((form for form in forms if found[form[1]] is not None), None)
    if form is None:
        return None
    units, top, bottom = (found[name] for name in form)
    if int(bottom) == 0:
        return f"{'-' if minus else ''}{int(top)}/0"
    value = int(units or 0) + Fraction(int(top), int(bottom))
    return _written(-value if minus else value)


def _exponent(text: str | None) -> int:
    if not text:
        return 0
    plain = text.rstrip("}").translate({ord(sign): "-" for sign in _MINUS})
    raised = plain.lstrip(" 0123456789.×x*\\timescdo") if plain[-1] in _RAISED else re.split(r"[eE^{]", plain)[-1]
    return int(normalize("NFKC", raised).replace("−", "-").strip())


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
