"""What does the page of a serving engine's quick check show?

A line per question, marked if it would spoil a load.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from fireassay.estimates.format import count
from fireassay.printable import json_text
from fireassay.reports.page import Case, Mark, Page, Section, Table, heads


@dataclass(frozen=True, kw_only=True)
class Line:
    """One finding; `warning`: it would spoil a load or distort its results."""

    name: str
    text: str
    warning: bool = False
    failed: bool = False  # a warning after which no load can be sent at all
    data: Mapping[str, Any] = field(default_factory=dict)


def page(urls: Sequence[str], lines: Sequence[Line]) -> Page:
    """The page of a quick check."""
    warnings = sum(line.warning for line in lines)
    rows = tuple((line.name, _mark(line), line.text) for line in lines)
    whole = Mark(word=count(warnings, "warnings"), tone="open") if warnings else Mark(word="ready for a load", tone="good")
    return Page(
        title=" ".join(urls),
        mark=Mark(word="no answer", tone="bad") if any(line.failed for line in lines) else whole,
        sections=(
            Section(
                key="lines", title="Ten requests", content=(Table(name="lines", heads=heads("Question", "State", "Answer"), rows=rows),)
            ),
        ),
        properties={"verb": "load"},
        cases=tuple(
            Case(
                name=line.name,
                group="check",
                outcome="failure" if line.warning else "passed",
                kind="fail" if line.failed else "warning",
                text=line.text,
            )
            for line in lines
        ),
    )


def _mark(line: Line) -> Mark:
    if line.failed:
        return Mark(word="failed", tone="bad")
    return Mark(word="warning", tone="open", sign="!") if line.warning else Mark(word="ok", tone="good")


def render(urls: Sequence[str], lines: Sequence[Line]) -> str:
    """The lines as JSON."""
    document = {"urls": urls, "fit": not any(line.warning for line in lines), "lines": [asdict(line) for line in lines]}
    return json_text(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False))
