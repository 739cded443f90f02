"""What must the file of a further page of a record declare?  One file holds one `PAGE`; its stem is the page's name and its flag."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from assay.reports.page import Page
from assay.reports.view import View


@dataclass(frozen=True, kw_only=True)
class RecordPage:
    """Something that is said of a judged record; every writer can write it."""

    name: str
    summary: str  # one line, for `assay report --help`
    page: Callable[[View], Page]
    writer: str  # the format that it is shown in unless another is asked for
