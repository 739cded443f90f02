"""What must a report's file declare?  One file holds one `REPORT`; its stem is the report's name.

A report is a pure function from the view to text or bytes; only `assay.cli` writes files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from assay.reports.view import View


@dataclass(frozen=True, kw_only=True)
class Report:
    """A way to show a view."""

    name: str
    suffix: str  # of the file it is written to: ".html"
    summary: str  # one line, for `assay report --help`
    render: Callable[[View], str | bytes]
    binary: bool = False  # whether `render` gives bytes
