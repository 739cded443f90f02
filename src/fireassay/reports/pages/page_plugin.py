"""What must the file of an additional record page declare?

One `PAGE` per file; its stem is the page's name and flag.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fireassay.reports.page import Page
from fireassay.reports.view import View


@dataclass(frozen=True, kw_only=True)
class RecordPage:
    """An additional page on a judged record; every writer can write it."""

    name: str
    summary: str  # one line, for `assay report --help`
    page: Callable[[View], Page]
    writer: str  # the default format
