"""How does a load go into an issue or a wiki?  The same tables as on the page, as GitHub-flavoured Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from assay.reports import grouping, load_tables
from assay.reports.load_tables import Cell, Head, LoadTable
from assay.reports.markup import plain, table
from assay.reports.view import DIMENSION_TITLES, MetricRow, View
from assay.verdict.types import DIMENSIONS


def numbers(view: View) -> str:
    """Engines at each load, and the capacity."""
    parts = ["## Numbers", *(_table(one) for one in load_tables.numbers(view))]
    parts += [plain(sentence) for sentence in load_tables.capacity(view)]
    return "\n\n".join((*parts, f"Intervals in brackets: {view.confidence} confidence; the launch is the unit."))


def of_collectives(view: View) -> str:
    """A line per size of every operation, and what a link costs."""
    from assay.reports import collective_tables

    parts = ["## Numbers", *(_table(one) for one in collective_tables.numbers(view))]
    return "\n\n".join((*parts, f"Intervals in brackets: {view.confidence} confidence; the launch is the unit."))


def details(view: View) -> str:
    """What lies behind the numbers."""
    tables = load_tables.details(view)
    return "\n\n".join(("## Behind the numbers", *(_table(one) for one in tables))) if tables else ""


def _table(one: LoadTable) -> str:
    head = [_head(head) for head in one.head]
    title = [] if one.title == "Numbers" else [f"### {plain(one.title)}"]
    body = table(head, [[_cell(cell) for cell in row] for row in one.rows])
    return "\n\n".join((*title, body, *(f"* {plain(note)}" for note in one.notes)))


def _head(head: Head) -> str:
    return f"{head.above}: {head.text}" if head.above else head.text


def _cell(cell: Cell) -> str:
    return f"{cell.text} {cell.below}".strip()


def gates(view: View) -> str:
    """Every gate once per status, with every sentence."""
    if not view.gates:
        return "## Gates\n\nNone were asked for."
    rows = [(group.word.upper(), group.gate, told.where, told.sentence) for group in grouping.gates(view) for told in group.told]
    return "## Gates\n\n" + table(("Status", "Gate", "Where", "Evidence"), rows)


def findings(view: View) -> str:
    """Every finding, those of several configurations once."""
    if not view.findings:
        return "## Findings\n\nNone: every audit passed."
    rows = [
        (group.severity, group.rule, told.where, told.sentence, group.remedy) for group in grouping.findings(view) for told in group.told
    ]
    return "## Findings\n\n" + table(("Severity", "Rule", "Where", "Evidence", "To do"), rows)


def metrics(view: View) -> str:
    """All metrics by dimension and by engine and scenario, then those of other tools."""
    parts = []
    for dimension in DIMENSIONS:
        parts.append(f"## {DIMENSION_TITLES[dimension]}\n\n{view.questions[dimension]}")
        parts += _metrics(view, view.of_dimension(dimension))
    if view.of_tools:
        parts += ["## Other tools' definitions of the same quantities", *_metrics(view, view.of_tools)]
    return "\n\n".join(parts)


def _metrics(view: View, rows: Sequence[MetricRow]) -> list[str]:
    known, unknown = [row for row in rows if row.known], [row for row in rows if not row.known]
    parts = [_group(view, group, known) for group in view.groups] if known else []
    missing = "\n".join(f"* {plain(line)}" for line in grouping.absences(view, unknown))
    return [*parts, *([missing] if missing else [])]


def _group(view: View, group: str, rows: Sequence[MetricRow]) -> str:
    columns = [column for column in view.columns if column.group == group]
    others = [key for key in dict.fromkeys(key for row in rows for key in row.cells) if view.label(key) == "whole experiment"]
    keys = [*(column.key for column in columns), *others]
    body = [(row.title, *(row.cells[key].full if key in row.cells else "" for key in keys)) for row in rows]
    head = ("Metric", *(column.brief for column in columns), *("whole experiment" for _ in others))
    return "\n\n".join((*([f"### {plain(group)}"] if group else []), table(head, body)))


def launches(view: View) -> str:
    """Every launch with its requests."""
    rows = [
        (
            str(r.number),
            r.label,
            str(r.block),
            r.role,
            r.status,
            r.wall,
            f"{r.due:,}",
            f"{r.answered:,}",
            f"{r.due - r.answered:,}",
            r.reason,
        )
        for r in view.launches
    ]
    head = ("Launch", "Configuration", "Block", "Role", "Status", "Wall", "Requests due", "Answered", "Failed", "Reason")
    return "## Launches\n\n" + table(head, rows)
