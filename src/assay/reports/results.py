"""What goes into the results section of a paper or a design document?  Sentences and a table, as Markdown."""

from __future__ import annotations

from assay.reports.base import Report
from assay.reports.markup import plain, table
from assay.reports.prose import Section, results_section
from assay.reports.view import View


def render(view: View) -> str:
    """The results section, from admissible numbers only (`assay.reports.prose`)."""
    return "\n\n".join(_section(section) for section in results_section(view)) + "\n"


def _section(section: Section) -> str:
    parts = [f"## {section.title}", plain(" ".join(section.sentences))]
    if section.table is not None:
        parts += [table(section.table.head, section.table.rows), f"Table: {plain(section.table.caption)}."]
    return "\n\n".join(parts)


REPORT = Report(
    name="results", suffix="-results.md", summary="the written results section, from admissible numbers only, as Markdown", render=render
)
