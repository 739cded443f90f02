"""What stands in the last \\boxed{...}?  Braces may be nested; a number is given in canonical notation, everything else as written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from fireassay.quality.scoring.extractors.support import numbers
from fireassay.quality.scoring.extractors.support.visible import NO_ANSWER, Span, stripped, visible
from fireassay.quality.scoring.items import Extraction, Extractor

_PIECE: Final = re.compile(r"(?P<box>\\f?box(?:ed)?[ \t]?\{)|\\.|[{}]", re.DOTALL)
_WORDS: Final = re.compile(r"\\(?:text|textbf|mathrm|mathbf)\{([^{}]{0,500})\}")


def normalise(inside: str) -> str:
    r"""Without \text{} around words, dollar signs and spaces; numbers canonical."""
    plain = _WORDS.sub(r"\1", inside.strip()).replace("\\!", "").strip().strip("$").strip()
    return numbers.normalised(plain) or plain


def find(text: str, part: Span) -> Extraction:
    """The last box that is closed and not empty; of two in each other the inner one."""
    best: Span | None = None
    opened: list[int | None] = []  # where the content of a box begins; None: another brace
    for piece in _PIECE.finditer(text, *part):
        if piece["box"] or piece[0] == "{":
            opened.append(piece.end() if piece["box"] else None)
        elif piece[0] == "}" and opened:
            begin = opened.pop()
            if begin is not None and (best is None or begin > best[0]) and normalise(text[begin : piece.start()]):
                best = stripped(text, begin, piece.start())
    if best is None:
        return NO_ANSWER
    return Extraction(answer=normalise(text[best[0] : best[1]]), rule="boxed", begin=best[0], end=best[1])


def extract(text: str, _: Sequence[str]) -> Extraction:
    """The content of the last box."""
    part = visible(text)
    return find(text, part) if part is not None else NO_ANSWER


EXTRACTOR = Extractor(name="boxed", version=1, title=r"the last \boxed{...}", extract=extract)
