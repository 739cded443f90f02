"""How does a cell of a page become a cell of a workbook?

Text is written as text whatever its first character, so that a script called `=cmd()` stays a name.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from textwrap import wrap
from typing import Any, Final

from fireassay.reports.page import GENERAL, Cell, Figure, Mark, said

MAX_TEXT_LENGTH: Final = 32_767  # characters in a cell, Excel's limit
WIDEST: Final = 60  # column width in characters
NUMBER_WIDTH: Final = 12
TALLEST: Final = 400  # points; Excel's limit is 409
LINE: Final = 15  # points of a line of text
HEAD_LINE: Final = 16  # characters of a head's line; longer heads wrap
COLOURS: Final = {
    "good": "#E0F3E8",
    "gain": "#E9ECEF",
    "bad": "#FDE6E3",
    "void": "#FDE6E3",
    "open": "#FFF0CC",
    "absent": "#E9ECEF",
    "struck": "#E9ECEF",
}


class Styles:
    """Excel formats, each created once per workbook."""

    def __init__(self, book: Any) -> None:
        self._book = book
        self._made: dict[str, Any] = {}
        self.head = book.add_format({"bold": True, "bottom": 1, "text_wrap": True, "valign": "top"})
        self.title = book.add_format({"bold": True, "font_size": 13})
        self.plain = book.add_format({"valign": "top"})
        self.quiet = book.add_format({"font_color": "#565C64", "valign": "top"})
        self.text = book.add_format({"text_wrap": True, "valign": "top"})

    def number(self, style: str) -> Any:
        """A number format."""
        return self._get(style, {"num_format": style, "valign": "top"})

    def mark(self, tone: str) -> Any:
        """A status colour."""
        return self._get(tone, {"bold": True, "bg_color": COLOURS[tone], "valign": "top"}) if tone in COLOURS else self.text

    def _get(self, key: str, properties: dict[str, object]) -> Any:
        if key not in self._made:
            self._made[key] = self._book.add_format(properties)
        return self._made[key]


def write(page: Any, styles: Styles, row: int, column: int, content: Cell) -> None:
    """Write one cell."""
    match content:
        case None:
            return
        case Figure() if not math.isfinite(content.value):
            page.write_string(row, column, "no bound" if math.isinf(content.value) else "not a number", styles.text)
        case Figure():
            page.write_number(row, column, content.value, styles.number(content.style))
        case Mark():
            page.write_string(row, column, content.word, styles.mark(content.tone))
        case int() | float():
            page.write_number(row, column, content, styles.number(GENERAL))
        case _:
            page.write_string(row, column, said(content).text[:MAX_TEXT_LENGTH], styles.text)


def width(head: str, contents: Iterable[Cell]) -> float:
    """A width that fits most cells and the wrapped head, within a readable limit."""
    longest_word = max(map(len, head.split()), default=0)
    lengths = [len(c) if isinstance(c, str) else len(c.word) if isinstance(c, Mark) else NUMBER_WIDTH for c in contents if c is not None]
    return float(min(WIDEST, max(min(len(head), HEAD_LINE), longest_word, *lengths, 0) + 2))


def height(texts: Iterable[Cell], widths: Sequence[float]) -> float | None:
    """The height of a row of wrapped texts, in points; None for one line. Not every program computes it from the texts."""
    known = ((text, room) for text, room in zip(texts, widths, strict=True) if isinstance(text, str))
    lines = max((len(wrap(text, max(1, int(room) - 2))) if len(text) > room else 1 for text, room in known), default=1)
    return min(LINE * lines, TALLEST) if lines > 1 else None


def printed_on_one_width(page: Any) -> None:
    """Print all columns on one page's width."""
    page.set_landscape()
    page.fit_to_pages(1, 0)
