"""How does an object show itself in a notebook?  Small fragments that inherit the notebook's own style.

All text is untrusted: everything passes through `text`, which escapes it and makes control characters visible.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Final

from fireassay.printable import printable
from fireassay.reports.cell import Tone

COLOURS: Final[Mapping[Tone, str]] = {"good": "#2e8b57", "gain": "#3b82c4", "bad": "#d1495b", "open": "#c08a1e", "void": "#8a63d2"}


def text(value: object) -> str:
    """Escaped text."""
    return escape(printable(str(value)))


def paragraph(strong: object, rest: object = "") -> str:
    """A bold lead and the text after it."""
    return f"<p><b>{text(strong)}</b> {text(rest)}</p>".replace(" </p>", "</p>")


def verdict(tone: Tone, word: object, rest: object) -> str:
    """A status with its sentence; its colour only repeats the word, so that the text suits light and dark notebooks."""
    return f'<div style="border-left:.3em solid {COLOURS.get(tone, "#888")};padding-left:.6em">{paragraph(word, rest)}</div>'


def table(heads: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """A table; the first cell of a row names it."""
    title = f"<caption>{text(caption)}</caption>" if caption else ""
    head = "".join(f"<th>{text(name)}</th>" for name in heads)
    body = "".join(f"<tr><th>{text(first)}</th>{''.join(f'<td>{text(cell)}</td>' for cell in rest)}</tr>" for first, *rest in rows)
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
