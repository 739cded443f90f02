"""How wide is the output, and is it coloured?"""

from __future__ import annotations

import os
from typing import Final, TextIO

from fireassay.cli.support.settings import USED

DEFAULT_COLUMNS: Final = 80
WIDEST: Final = 100  # longer lines are hard to read


def columns(stream: TextIO) -> int:
    """The width of the output: the user's setting; else the terminal's, else $COLUMNS, else 80, and at most 100."""
    if (setting := USED.get().width) is not None:
        return setting
    try:
        width = os.get_terminal_size(stream.fileno()).columns if stream.isatty() else 0
    except (OSError, ValueError):  # closed, or without a number
        width = 0
    variable = os.environ.get("COLUMNS", "")
    return min(width or (int(variable) if variable.isdecimal() and int(variable) > 0 else DEFAULT_COLUMNS), WIDEST)


def coloured(stream: TextIO) -> bool:
    """Whether the output is coloured: as --color says; else on a terminal that can, unless NO_COLOR is set."""
    if (choice := USED.get().color) != "auto":
        return choice == "always"
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def writes_unicode(stream: TextIO | None) -> bool:
    """Whether the stream's encoding has the marks of a report."""
    try:
        "▸┊─".encode(getattr(stream, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return False
    return True
