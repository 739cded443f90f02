"""What must a writer's file declare?

One `WRITER` per file; its stem is the format's name and flag. A writer is a pure function from a page to text or bytes; only `fireassay.cli`
writes files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from fireassay.reports.page import Page


class Fit(Protocol):
    """Rendering of a page for a screen."""

    def __call__(self, page: Page, *, width: int, colour: bool, plain: bool) -> str:
        """Render the page in at most `width` columns; `plain`: in ASCII."""


@dataclass(frozen=True, kw_only=True)
class Writer:
    """A format."""

    name: str
    suffix: str  # file suffix: ".html"
    summary: str  # one line, for `--help`
    write: Callable[[Page], str | bytes]
    streams: bool = False  # goes to stdout unless a file is named
    fit: Fit | None = None  # used if stdout is a terminal
