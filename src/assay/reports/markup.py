"""How does text from elsewhere become Markdown?  Escaped, alone or in the cells of a table; shared by every report in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from assay.printable import printable

_SPECIAL = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_[]<>|#~"} | {"\n": " ", "\r": " ", "&": "&amp;"})


def plain(text: str) -> str:
    """Text from elsewhere with everything escaped that Markdown, HTML or a terminal would interpret."""
    return printable(text.translate(_SPECIAL))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; cells are escaped here."""
    lines = ["| " + " | ".join(plain(cell) for cell in row) + " |" for row in (head, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])
