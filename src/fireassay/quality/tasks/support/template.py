"""How is a template filled?  `{name}` is a field of the row, `{{` and `}}` are braces; nothing else: no attribute, index or format."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

_PIECE: Final = re.compile(r"\{\{|\}\}|\{([^{}\n]{1,100})\}|[{}]")


def names(template: str) -> tuple[str, ...]:
    """The fields of a template, each once, in order."""
    return tuple(dict.fromkeys(piece[1] for piece in _PIECE.finditer(template) if piece[1]))


def lone_brace(template: str) -> str:
    """What stands at a brace that is neither doubled nor around a name; empty if there is none."""
    for piece in _PIECE.finditer(template):
        if piece[0] in ("{", "}"):
            return template[max(0, piece.start() - 10) : piece.end() + 10]
    return ""


def filled(template: str, field: Callable[[str], str]) -> str:
    """The template with its fields' values; a value is never read as a template."""
    return _PIECE.sub(lambda piece: field(piece[1]) if piece[1] else piece[0][0], template)
