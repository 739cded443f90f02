"""Which part of a text answers this question?  Neither the reasoning before it, nor the next question that a model makes up.

Reasoning stands in tags (`<think>...</think>`, `[THINK]`); the opening one may have been in the prompt.  Where reasoning was opened and
never closed, nothing has been answered.  A base model goes on with the next example of its few-shot prompt; what follows a line that
begins like one ("Question:", "Q:", "User:"), or a token that ends the text, answers another question.

Cannot tell: a model that repeats the question on a line of its own after other words from one that goes on with another.

Which of several known words or sentences does a text give as its answer?

The whole text, what is stated behind "the answer is" (the last one that names a choice), the beginning of the first line, the last line,
and without those the only one that is mentioned at all.  The longest choice wins where one contains another ("not equivalent"), and a
denied one ("not positive") is not mentioned.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

from fireassay.quality.scoring.items import Extraction, Extractor

# A letter, a digit or "_" of a script that is written with spaces between words: Chinese, Japanese and Korean are not.
LETTER: Final = r"[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]"
_WIDE: Final = {0xFF01 + offset: chr(0x21 + offset) for offset in range(94) if chr(0x21 + offset) not in ",!?;"}  # full-width forms
_WIDE_COMMA: Final = re.compile(r"(?<=[０-９])，(?=[０-９]{3})")
NO_ANSWER: Final = Extraction(answer=None, rule="none")
Span = tuple[int, int]

_NAMES: Final = "(?:think|thinking|thought|reasoning)"
_TAG: Final = re.compile(rf"[<\[](?P<close>/?){_NAMES}[>\]]", re.IGNORECASE)
# A token ends the text wherever it stands; a heading begins another question only at the beginning of a line.
_STOP: Final = re.compile(
    r"(?P<token><\|(?:im_end|im_start|endoftext|end_of_text|eot_id|start_header_id|end|user|return)\|>|</s>|<end_of_turn>|<start_of_turn>)"
    r"|^[ \t]{0,8}(?:\#{1,6}[ \t]|\*\*)?(?:Question|Q|Problem|Exercise|Instruction|Human|User|Passage|Frage|Pregunta|Pergunta|Domanda|Вопрос|Soru|"
    r"问题|問題|题目|질문|문제|प्रश्न|سؤال)(?:[ \t]?\#?\d{1,5})?(?:\*\*)?[ \t]?[:：]",
    re.IGNORECASE | re.MULTILINE,
)


def visible(text: str, run_ons: bool = True) -> Span | None:
    """Begin and end of the part that answers, without white space around it; None if there is none.

    With `run_ons` false only reasoning is left out.
    """
    segments = list(_segments(text, run_ons))
    if not segments or segments[-1] is None:  # reasoning without an end
        return None
    for begin, end in reversed([segment for segment in segments if segment is not None]):
        trimmed = stripped(text, begin, end)
        if trimmed[0] < trimmed[1]:
            return trimmed
    return None


def extractor(
    name: str,
    title: str,
    find: Callable[[str, Span, Sequence[str]], Extraction],
    *,
    version: int = 1,
    run_ons: bool = True,
    plain: bool = False,
) -> Extractor:
    """An extractor that finds something in the visible part of a text, given the item's choices; `plain`: full-width forms count as plain ones."""

    def extract(text: str, choices: Sequence[str]) -> Extraction:
        text = _WIDE_COMMA.sub(",", text).translate(_WIDE) if plain else text
        part = visible(text, run_ons)
        return find(text, part, choices) if part is not None else NO_ANSWER

    return Extractor(name=name, version=version, title=title, extract=extract)


def stripped(text: str, begin: int, end: int) -> Span:
    """The same part without white space around it."""
    part = text[begin:end]
    left = begin + len(part) - len(part.lstrip())
    return left, max(left, begin + len(part.rstrip()))


def lines(text: str, begin: int, end: int) -> Iterator[Span]:
    """The lines of a part that are not blank, each without white space around it."""
    while begin < end:
        at = text.find("\n", begin, end)
        stop = end if at < 0 else at
        trimmed = stripped(text, begin, stop)
        if trimmed[0] < trimmed[1]:
            yield trimmed
        begin = stop + 1


def _segments(text: str, run_ons: bool) -> Iterator[Span | None]:
    """The parts outside of reasoning, in order, up to the first sign of another question; None: reasoning has no end."""
    at, answered = 0, False
    tag = _TAG.search(text)
    if tag is not None and tag["close"]:  # its opening tag was in the prompt
        at = tag.end()
        tag = _TAG.search(text, at)
    while True:
        end = tag.start() if tag is not None else len(text)
        stop = _stop(text, at, end, answered) if run_ons else None
        yield at, (end if stop is None else stop)
        if tag is None or stop is not None:
            return
        answered = answered or bool(text[at:end].strip())
        closing = tag if tag["close"] else _closing(text, tag.end())
        if closing is None:
            yield None
            return
        at = closing.end()
        tag = _TAG.search(text, at)


def _closing(text: str, at: int) -> re.Match[str] | None:
    return next((tag for tag in _TAG.finditer(text, at) if tag["close"]), None)


def _stop(text: str, begin: int, end: int, answered: bool) -> int | None:
    """Where something else than the answer begins; a heading before any word only repeats the question."""
    first = stripped(text, begin, end)[0]
    for found in _STOP.finditer(text, begin, end):
        if found["token"] or answered or found.start() > first or text[found.start() : first].strip():
            return found.start()
    return None


_DECORATION: Final = " \t\r\n*_`\"'“”‘’.,;:!()[]{}$"
_ASKED: Final = re.compile(
    r"[ ]?(?:(?:or|and|oder|und|ou|et|o|y|e|или|и)\b|[/和或])", re.IGNORECASE
)  # "positive or negative?" answers nothing
_DENIED: Final = re.compile(
    r"(?:\bnot|\bneither|\bnor|\bnever|n['’]t|\bnicht|\bkein[a-z]{0,2}|\bpas|\bno[ ]es|\bnão[ ]é|\bnon[ ]è|\bне)(?:[ ]"
    r"(?:a|an|the|quite|entirely|really|exactly|completely|strictly|necessarily|always))?"
    r"[ ]{1,2}\Z"
    r"|\b(?:not|cannot|can['’]t|won['’]t|don['’]t)[ ](?:say|claim|call)(?:[ ](?:it|this))?(?:[ ](?:is|that|a))?[ ]\Z"
    r"|\b(?:whether|if|ob|si|se)\b[^.!?\n]{0,40}\Z|是否[^。\n]{0,20}\Z|[不非没沒][是]?\Z",
    re.IGNORECASE,
)
_DENIED_AFTER: Final = re.compile(r"(?:なの)?(?:では|じゃ|でも)な|ではありませ|(?:이|가)?[ ]?아니")
MAX_CHOICE: Final = 4000  # characters of a choice that is looked for
# What stands between the statement and the answer: "is", "should be:", "is **(", "is option".
_BETWEEN: Final = r"(?:[ \t]{1,4}(?:is|was|(?:would|should|must|will|could|might|may)[ ]be)\b)?"
_STATED: Final = re.compile(
    rf"\b(?:answer|ans|choice|option|solution|label|conclusion)\b"
    rf"(?:[ \t]to[ \t](?:this|the|your)[ \t]question|[ \t]here)?(?:\*\*)?{_BETWEEN}"
    r"(?P<mark>[\"']?[ \t]{0,4}[:=])?(?:\*\*)?(?:[ \t]{0,4}\n)?[ \t]{0,8}(?:(?:the[ \t])?(?:option|choice|letter)\b"
    r"(?![ \t]{1,4}(?:is|was|would|should|must|will)\b|[ \t]{0,4}[:=])[ \t]{0,4})?",
    re.IGNORECASE,
)
# The same in other languages: a noun, at most two words, a verb or a mark, and what may stand before the answer itself.
_ELSEWHERE: Final = re.compile(
    r"(?:\b(?:antwort|lösung|ergebnis|richtig|réponse|résultat|respuesta|opci[óo]n|resultado|resposta|alternativa|risposta|risultato|opzione|"
    r"ответ|вариант|результат|cevap|jawaban|odpowiedź|antwoord|gabarito|đáp[ ]án|विकल्प|الخيار)(?:[ ]{1,2}[^\W\d_]{4,14}){0,2}?[ ]{0,2}(?:\*\*)?"
    r"(?:[:：=—–]|\b(?:ist|lautet|est|es|é|è|jest|to|là|adalah)\b|(?=[ ]?[A-J](?:[.)।]|['’]d[iıuü]r|[ ]है|\s{0,9}\Z|\n)))"
    r"[ ]{0,2}(?:(?:la|die|a|le|el)[ ](?=[(*]{0,3}[A-J]\b|\w{5,11}[ ]))?"
    r"(?:(?:réponse|option|opción|opção|letra|lettera|lettre|alternativa|antwort)[ ])?"
    r"|(?:答案|选项|選項|選択肢|正解|答え|答|정답|답)(?:应该|应当)?(?:是|为|為|应为|は|은|는|应选|选|[ ]?[:：])[ ]{0,2}(?:选项|選択肢)?"
    r"|(?:उत्तर|जवाब)[ ]?:?|(?:الإجابة|الجواب)(?:[ ]الصحيحة|[ ]النهائية|[ ]الصحيح|[ ]النهائي)?[ ]?(?:هو|هي|:)"
    r"|(?:应选|故选|选择|選擇|所以选|本题选|题选|^选|正确的是)[ ]?[:：]?)[ ]{0,4}",
    re.IGNORECASE | re.MULTILINE,
)
SENTENCE: Final = re.compile(r"[.!?](?=\s|\Z)|[。！？\n]")


def statements(text: str, part: Span) -> Iterator[int]:
    """Where an answer is stated: the positions behind "Answer:", "the answer is", "答案是" and the like, in order."""
    english = (
        found.end() for found in _STATED.finditer(text, *part) if found["mark"] or re.search(r"\b(?:is|was|be)\b", found[0], re.IGNORECASE)
    )
    yield from heapq.merge(english, (found.end() for found in _ELSEWHERE.finditer(text, *part)))


# The writer takes back what stands before: "wait" between marks, "I made a mistake".
_CORRECTS: Final = re.compile(
    r"\b(?:wait|hold[ ]on|scratch[ ]that|correction)\b(?=[ ]?[,.!:;…—–-])|\bi[ ](?:made[ ](?:a|an)[ ](?:mistake|error)|miscalculated|forgot)\b"
    r"|\bthat['’]s[ ]wrong\b"
    r"|\b(?:moment|warte|attendez?|espera|espere|aspetta|aspetti)\b(?=[ ]?[,.!:;…—–-])|\bподожди(?:те)?\b|等等|等一下|算错|不对，|待って|잠깐",
    re.IGNORECASE,
)


def corrected(text: str, part: Span) -> Span | None:
    """What follows the writer's last correction; None if nothing is corrected."""
    end = max((found.end() for found in _CORRECTS.finditer(text, *part)), default=None)
    return None if end is None else stripped(text, end, part[1])


def sentence_end(text: str, at: int, end: int) -> int:
    """Where the sentence ends in which something is stated."""
    found = SENTENCE.search(text, at, end)
    return end if found is None else found.start()


def pattern_of(words: Iterable[str]) -> re.Pattern[str]:
    """Finds any of the words; the longest first."""
    return _pattern_of(tuple(words))


@lru_cache(maxsize=32)
def _pattern_of(words: tuple[str, ...]) -> re.Pattern[str]:
    """Made once: the words are the same for every text where the choices are."""
    ordered = sorted((word for word in words if word), key=len, reverse=True)
    either = "|".join(_alone(word) for word in ordered) or "(?!)"
    first = "".join(sorted({re.escape(word[0]) for word in ordered}))  # most characters begin no word, and are seen at once
    return re.compile(f"(?=[{first}])(?:{either})" if first else either, re.IGNORECASE)


def _alone(word: str) -> str:
    """The word where it is no part of another one; in scripts without spaces nothing tells."""
    before, after = (f"(?<!{LETTER})" if re.match(LETTER, word[0]) else "", f"(?!{LETTER})" if re.match(LETTER, word[-1]) else "")
    return f"{before}{re.escape(word)}{after}"


def find(text: str, part: Span, words: Mapping[str, str], counts: Callable[[str, int], bool] = lambda *_: True) -> Extraction:
    """The answer for the word that is given; `words`: what may stand in the text -> the answer; `counts`: whether a word does that ends there."""
    folded = {word.casefold(): answer for word, answer in words.items()}
    pattern = pattern_of(words)
    later = corrected(text, part)
    if later is not None and pattern.search(text, *later):
        part = later
    for rule, span in _places(text, part, pattern):
        found = pattern.match(text, *span)
        if found is None or _ASKED.match(text, found.end(), span[1]) or not counts(found[0], found.end()):
            continue
        if rule in ("stated", "begins") or _bare(text, found.end(), span[1]):
            answer = folded.get(found[0].casefold())
            if answer is not None:
                return Extraction(answer=answer, rule=rule, begin=found.start(), end=found.end())
    return _only(text, part, pattern, folded, counts)


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


def _only(text: str, part: Span, pattern: re.Pattern[str], folded: Mapping[str, str], counts: Callable[[str, int], bool]) -> Extraction:
    """The only answer that is mentioned, at its last mention."""
    best = NO_ANSWER
    for found in pattern.finditer(text, *part):
        asked = _ASKED.match(text, found.end())
        if asked is not None and pattern.match(text, *_undecorated(text, (asked.end(), part[1]))):
            return NO_ANSWER  # "yes and no"
        answer = folded.get(found[0].casefold())
        if (
            answer is None
            or _DENIED.search(text, max(part[0], found.start() - 60), found.start())
            or _DENIED_AFTER.match(text, found.end())
        ):
            continue
        if not counts(found[0], found.end()):
            continue
        if best.answer is not None and best.answer != answer:
            return NO_ANSWER
        best = Extraction(answer=answer, rule="mentioned", begin=found.start(), end=found.end())
    return best
