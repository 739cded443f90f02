"""How does text that others wrote reach a terminal, a page or XML without steering it?

A record, a claim's file or a script's output may hold anything.  Control characters move the cursor, set a window's title or
hide what stands before them; bidirectional overrides (Unicode TR 36, section 3.4) show words in another order than they are
stored; lone surrogates cannot be written at all.  Each becomes U+FFFD, so that a reader sees that something stood there.
Cannot tell an honest name from one that only looks like another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

TYPE_CHECKING = False  # read by type checkers as true; see assay/__init__.py
if TYPE_CHECKING:
    from typing import TextIO

# What XML 1.0 allows, without the controls between DEL and NBSP and without marks that reorder the text round them.
_STEERING = re.compile("[^\t\n\x20-\x7e\xa0-\u061b\u061d-\u200d\u2010-\u2029\u202f-\u2065\u206a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def printable(text: str) -> str:
    """The text with U+FFFD for every character that steers; line breaks and tabs stay."""
    return _STEERING.sub("\N{REPLACEMENT CHARACTER}", text)


def say(text: object, *, file: TextIO | None = None, flush: bool = False) -> None:
    """Print it without anything that steers: what names a folder, a file or an experiment may come from anybody."""
    print(printable(str(text)), file=file, flush=flush)


def json_text(text: str) -> str:
    """JSON for a terminal and for programs alike: what steers stands there escaped, and reads as the same text."""
    return _STEERING.sub(lambda found: _escaped(found[0]), text)


def _escaped(letter: str) -> str:
    units = letter.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def one_line(text: str) -> str:
    """The same in one line: every run of white space is one space."""
    return printable(" ".join(text.split()))


def columns(rows: Iterable[Sequence[str]], *, right: int = 0) -> list[str]:
    """Rows of equally many cells as lines of printable text, aligned; the last `right` columns stand to the right."""
    cells = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    left = len(widths) - right
    return [
        "  ".join(
            cell.ljust(width) if place < left else cell.rjust(width) for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
