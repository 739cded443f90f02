"""What must a writer's file declare?  One file holds one `WRITER`; its stem is the format's name and its flag.

A writer is a pure function from a page to text or bytes; only `assay.cli` writes files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from assay.reports.page import Page


class Fit(Protocol):
    """How a page is shown on a screen."""

    def __call__(self, page: Page, *, width: int, colour: bool) -> str:
        """The page in at most so many columns."""


@dataclass(frozen=True, kw_only=True)
class Writer:
    """A format."""

    name: str
    suffix: str  # of the file it is written to: ".html"
    summary: str  # one line, for `--help`
    write: Callable[[Page], str | bytes]
    streams: bool = False  # whether it goes to stdout unless a file is named
    fit: Fit | None = None  # where stdout is a terminal
