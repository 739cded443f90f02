"""Which number is the answer of a reply that states none?

The last sentence that holds a number decides; questions, offers of help, sources and checks of the result are passed over.  Its answer is the result of
its equation, the number in bold, or the only number.  Dates, numbers in brackets and denied ones do not count; years and a clause that leads in
("After 3 hours, ...") do not where another number stands.  Of several other numbers a reader of the reply alone cannot tell which was asked for, and a
bound ("more than 20") and a reply that breaks off give none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Final

from fireassay.quality.scoring.extractors.support.numerals import Number, each
from fireassay.quality.scoring.extractors.support.visible import SENTENCE, Span

MAX_SENTENCE: Final = 2_000  # characters at the end of a sentence: numbers are held against every bracket of it
_PASSED_OVER: Final = re.compile(
    r"[ \t*_#>-]{0,8}(?:[(\[]?(?:source|see|note|check|verification|verify|probe|vérification|comprobación|verificação|verifica|проверка|验证|检验|検算|참고)"
    r"\b[^.\n:]{0,30}[:,]|to[ ](?:check|verify)|(?:you|we)[ ]can[ ](?:check|verify)|let[ ]me[ ]know|feel[ ]free|i[ ]hope|hope[ ]this)",
    re.IGNORECASE,
)
_HEADING: Final = re.compile(r"[ \t*_#>|-]{0,8}\d{1,3}\Z")
_MONTH: Final = (
    r"(?:Jan(?:uary|uar)?|Feb(?:ruary|ruar)?|Mar(?:ch)?|März|Apr(?:il)?|May|Mai|June?|Juni|July?|Juli|Aug(?:ust)?|Sept?(?:ember)?|O[ck]t(?:ober)?|"
    r"Nov(?:ember)?|De[cz](?:ember)?|janvier|février|mars|avril|mai|juin|juillet|août|septembre|octobre|novembre|décembre|enero|febrero|marzo|abril|"
    r"mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre|janeiro|fevereiro|março|maio|junho|julho|setembro|outubro|novembro|dezembro|"
    r"gennaio|febbraio|aprile|maggio|giugno|luglio|settembre|ottobre|dicembre|января|февраля|марта|апреля|мая|июня|июля|августа|сентября|октября|"
    r"ноября|декабря)\b\.?"
)
_DATE: Final = re.compile(
    rf"(?<!\d)\d{{1,2}}(?:st|nd|rd|th)?\.?[ ](?:of[ ]|de[ ])?{_MONTH}(?:,?[ ](?:de[ ])?\d{{4}})?|\b{_MONTH}[ ]\d{{1,2}}(?:st|nd|rd|th)?\b(?:,?[ ]\d{{4}})?"
    rf"|\b{_MONTH},?[ ]\d{{4}}|\d{{1,2}}([./])\d{{1,2}}\1\d{{2,4}}|\d{{4}}-\d{{1,2}}-\d{{1,2}}|\d{{1,4}}年\d{{1,2}}月(?:\d{{1,2}}日)?|\d{{1,2}}月\d{{1,2}}日"
)
_LABEL: Final = re.compile(
    r"\b(?:pages?|pp?\.|questions?|problem|step|chapter|section|figure|fig\.|table|equation|eq\.|line|exercise|part|Seite|Schritt|Aufgabe|étape|página|"
    r"paso|pregunta|passo|pagina|шаг|стр\.)[ ](?:no\.[ ])?[(#]?\Z|[^\W\d_]-\Z",
    re.IGNORECASE,
)
# A sentence that answers nothing: a refusal, a doubt, or what would have to be known.
_UNSURE: Final = re.compile(
    r"\b(?:sorry|cannot|can['’]?t|unable|not[ ]enough|insufficient|impossible|unclear|unknown|don['’]t[ ]know|would[ ]need|(?:i|we)[ ]need[ ](?:to|the|more)|"
    r"maybe|perhaps|possibly|might[ ]be|could[ ]be|vielleicht|leider|désolé|peut-être|lo[ ]siento|tal[ ]vez|desculpe|talvez|mi[ ]dispiace|forse|"
    r"к[ ]сожалению|возможно)\b|\A\W*or\b|抱歉|无法|無法|不足|也许|可能|申し訳|かもしれ|죄송|아마",
    re.IGNORECASE,
)
_BOLD: Final = re.compile(r"\*\*[^*\n]{1,80}\*\*")
_BRACKETS: Final = re.compile(r"(?<![\\\w])[(（][^()（）\n]{0,200}[)）]")
_DENIED: Final = re.compile(
    r"(?:\bnot|\bnor|n['’]t|\bnicht|\bpas|\bno(?:[ ](?:es|son))?|\bnão(?:[ ]é)?|\bnon(?:[ ]è)?|\bне|不是|并非)[ *$]{1,4}\Z|(?:不是|并非)\Z",
    re.IGNORECASE,
)
DENIED_AFTER: Final = re.compile(r"\w{0,3}(?:では|じゃ)な|\w{0,3}ではありませ|\w{0,2}(?:이|가)?[ ]?아니|[ ](?:नहीं|değil)")
BOUND: Final = (
    r"(?:(?:more|less|fewer|greater|larger|smaller|higher|lower)[ ]than|at[ ](?:least|most)|up[ ]to|mehr[ ]als|weniger[ ]als|mindestens|höchstens|"
    r"plus[ ]de|moins[ ]de|au[ ]moins|au[ ]plus|más[ ]de|menos[ ]de|al[ ]menos|mais[ ]de|pelo[ ]menos|più[ ]di|meno[ ]di|almeno|более|менее|больше|меньше|"
    r"至少|最多|超过|不到|少なくとも|[<>≤≥]|\\(?:leq?|geq?|lt|gt)\b)"
)
_BOUNDED: Final = re.compile(rf"{BOUND}[ $€£¥*]{{0,4}}\Z", re.IGNORECASE)
_BOUNDED_AFTER: Final = re.compile(r"[ ]?(?:or[ ](?:more|less|fewer)|以上|以下|以内|이상|이하|\+)")
_YEAR: Final = re.compile(r"\b(?:in|since|by|of|until|en|im|seit|em|nel|dal|в|до|с)[ ]\Z", re.IGNORECASE)
_LEADS_IN: Final = re.compile(
    r"[ \t*_>-]{0,6}(?:after|in|on|by|at|with|during|for|from|since|if|when|given|nach|am|im|in|bei|wenn|après|en|au|avec|si|tras|con|después|após|em|com|se|"
    r"dopo|nel|через|после|в|если)\b[^,，\n]{1,80}[,，](?!\d)",
    re.IGNORECASE,
)
_CONCLUDES: Final = re.compile(
    r"\b(?:so|hence|thus|therefore|i\.e\.|that[ ]is,|also|deshalb|donc|soit|así[ ]que|es[ ]decir|por[ ]lo[ ]tanto|portanto|ou[ ]seja|quindi|cioè|"
    r"значит|поэтому|то[ ]есть)(?!\w)|所以|因此|即|よって|따라서|므로",
    re.IGNORECASE,
)
_RESULTS: Final = re.compile(
    r"(?:[=≈→]|\b(?:equals?|gives?|makes?|leaves?|is|are|was|were|ist|sind|beträgt|ergibt|est|font|es|son|é|são|è|sono|равно|равна)"
    r"|[为為是])[ \t*$€£¥\\(\[{~]{0,6}\Z",
    re.IGNORECASE,
)
_UNSOLVED: Final = re.compile(  # "x + 5 = 12", "5n = 100"
    r"(?:\d[a-zA-Z]\b|(?<!\w)[a-zA-Z][ ]?[-−+*/×·]|[-−+*/×·][ ]?[a-zA-Z](?!\w))[^=,;⇒→\n]{0,20}=[ $]{0,4}\Z"
)
_COPULA: Final = re.compile(r"(?:\b(?:is|are|was|were|has|have|ist|sind|hat|est|sont|es|son|é|são|è|sono)[ ]|[为為は是])\Z", re.IGNORECASE)
_ALTERNATIVE: Final = re.compile(r"(?:[,;/]|\b(?:or|and|oder|und|ou|et|o|y|e|или|и)|[或和])[ $]{0,3}[^\W\d]{0,2}[ ]{0,2}=[ $]{0,3}\Z")
_BROKEN_OFF: Final = re.compile(
    r"(?:[,，+/×÷=(]|(?<!\*)\*|\b(?:by|of|and|the|to|with|from|then|for|a|so|we|let|und|mit|et|de|avec|y|por|con|e|com|di|и|на)|然后|接着|并且|そして)[ ]*\Z",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[^\W\d_]{2}")


def unstated(text: str, part: Span) -> Number | None:
    """The number that the reply gives; None: none, or nobody can tell which."""
    spans = list(_sentences(text, part))
    for place, (begin, end) in enumerate(reversed(spans)):
        begin = max(begin, end - MAX_SENTENCE)
        found = each(text, begin, end)
        if not found:
            if place == 0 and begin > part[0] and text[begin - 1] != "\n" and _breaks_off(text, begin, end, part[1]):
                return None
            continue
        if (
            text[end : end + 1] in ("?", "？")
            or _PASSED_OVER.match(text, begin, end)
            or (text[end : end + 2] == ". " and _HEADING.match(text[begin:end]))
        ):
            continue
        return (
            None if place == 0 and end == part[1] and _BROKEN_OFF.search(text, found[-1].end, end) else _chosen(text, (begin, end), found)
        )
    return None


_SMALL: Final = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS: Final = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_SPELLED: Final = re.compile(
    rf"(?:(?P<hundreds>{'|'.join(_SMALL[1:10])})[ ]hundred\b(?:[ ]and)?[ ]?)?(?:(?P<tens>{'|'.join(_TENS)})\b[- ]?)?"
    rf"(?:(?P<units>{'|'.join(sorted(_SMALL, key=len, reverse=True))})\b)?(?P<rest>(?:[ ][^\W\d_]{{2,15}})?)[ ]{{0,2}}(?:[.!,;*)\n]|\Z)",
    re.IGNORECASE,
)


def spelled(text: str, at: int, end: int) -> Number | None:
    """The English number word that stands there alone, or before one other word: "Seventeen.", "twelve eggs"; "one moment" is none."""
    found = _SPELLED.match(text, at, end)
    if found is None or not (found["hundreds"] or found["tens"] or found["units"]):
        return None
    hundreds, tens, units = ((found[name] or "").lower() for name in ("hundreds", "tens", "units"))
    if found["rest"] and (hundreds, tens, units) == ("", "", "one"):
        return None
    value = (
        (100 * _SMALL.index(hundreds) if hundreds else 0)
        + (10 * _TENS.index(tens) + 20 if tens else 0)
        + (_SMALL.index(units) if units else 0)
    )
    return Number(begin=at, end=found.start("rest"), value=str(value))


def _sentences(text: str, part: Span) -> Iterator[Span]:
    begin, end = part
    for stop in SENTENCE.finditer(text, begin, end):
        if text[begin : stop.start()].strip():
            yield begin, stop.start()
        begin = stop.end()
    if text[begin:end].strip():
        yield begin, end


def _breaks_off(text: str, begin: int, end: int, last: int) -> bool:
    return end == last and text[end - 1] not in ".!?。！？)*`:" and _WORD.search(text, begin, end) is not None


def _chosen(text: str, span: Span, found: list[Number]) -> Number | None:
    begin, end = span
    if _UNSURE.search(text[begin:end]):
        return None
    found = [one for one in found if not _LABEL.search(text, max(begin, one.begin - 16), one.begin)]
    found = _outside(found, [one.span() for one in _DATE.finditer(text, begin, end)])
    bold = [one.span() for one in _BOLD.finditer(text, begin, end)]
    found = _some(found, lambda one: any(left <= one.begin < right for left, right in bold))
    bracketed = [one.span() for one in _BRACKETS.finditer(text, begin, end)]
    found = _outside(found, bracketed) or found
    found = [
        one for one in found if not _DENIED.search(text, max(begin, one.begin - 12), one.begin) and not DENIED_AFTER.match(text, one.end)
    ]
    found = _some(found, lambda one: not _year(text, one))
    concluded = max((one.end() for one in _CONCLUDES.finditer(text, begin, end)), default=begin)
    found = _some(found, lambda one: one.begin >= concluded)
    leads = _LEADS_IN.match(text, begin, end)
    found = _some(found, lambda one: leads is None or one.begin >= leads.end())
    return _last(text, begin, found) if found else None


def _last(text: str, begin: int, found: list[Number]) -> Number | None:
    last = found[-1]
    before = text[max(begin, last.begin - 40) : last.begin]
    if last.value is None or _UNSOLVED.search(before) or _BOUNDED.search(before) or _BOUNDED_AFTER.match(text, last.end):
        return None
    if len({one.value for one in found}) == 1:
        return last
    if sum(_COPULA.search(text, max(begin, one.begin - 12), one.begin) is not None for one in found) > 1:  # "Ann has 5 and Ben has 6"
        return None
    if not _RESULTS.search(before) or _ALTERNATIVE.search(before) or _as_percent(text, *found[-2:]):
        return None
    return last


def _as_percent(text: str, before: Number, last: Number) -> bool:
    """True for "0.6 = 60%": the same value in two notations."""
    if before.value is None or last.value is None or not re.compile(r"[ ]?\\?%").match(text, last.end):
        return False
    try:
        return Fraction(before.value) * 100 == Fraction(last.value)
    except (ValueError, ZeroDivisionError):
        return False


def _year(text: str, one: Number) -> bool:
    written = text[one.begin : one.end]
    year = len(written) == 4 and written.isdigit() and 1500 <= int(written) < 2100
    return year and (text[one.end : one.end + 1] in ("年", "년") or _YEAR.search(text, max(0, one.begin - 8), one.begin) is not None)


def _outside(found: list[Number], spans: list[Span]) -> list[Number]:
    return [one for one in found if not any(left <= one.begin < right for left, right in spans)]


def _some(found: list[Number], holds: Callable[[Number], bool]) -> list[Number]:
    """Those that it holds for; all if it holds for none."""
    return [one for one in found if holds(one)] or found
