"""Is the whole text the answer, its first line, the code in it or a field of its JSON?

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
from typing import Any, Final

from fireassay.quality.scoring.extractors.support.visible import NO_ANSWER, Span, extractor, lines
from fireassay.quality.scoring.items import Extraction

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


EXTRACTORS = (
    extractor("whole", "the whole text", lambda text, part, _: _at(text, part, "whole"), version=2, run_ons=False),
    extractor("first_line", "the first line", lambda text, part, _: _at(text, next(lines(text, *part)), "first_line")),
    extractor("code", "the code of a fenced block, or a raw completion", _code, version=2, run_ons=False),
    extractor("json_field", 'the field "answer" of a JSON object', _json_field),
)
