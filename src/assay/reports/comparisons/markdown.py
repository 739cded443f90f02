"""How does a comparison go into a pull request?  As GitHub-flavoured Markdown; everything from the records is escaped."""

from __future__ import annotations

from assay.reports.comparisons.view import ChangeRow, ComparisonView
from assay.reports.markup import plain, table


def render(view: ComparisonView) -> str:
    """The whole comparison as Markdown."""
    sections = (
        f"# {plain(' | '.join(view.sides))}: {plain(view.word)}\n\n> {plain(view.sentence)}",
        _mismatches(view),
        _changes(view),
        _overview(view),
        _notes(view),
        _context(view),
    )
    return "\n\n".join(section for section in sections if section) + "\n"


def _mismatches(view: ComparisonView) -> str:
    if not view.important:
        return "## What differs\n\nNothing that matters." if view.rows else ""
    rows = [(row.standing, row.field, row.kind, *row.values, row.why, row.override) for row in view.important]
    return "## What differs\n\n" + table(("Standing", "Field", "Class", *_columns(view), "Matters because", "Override"), rows)


def _columns(view: ComparisonView) -> tuple[str, ...]:
    """One head per value: a record that is compared with itself has one."""
    wide = max((len(row.values) for row in view.mismatches), default=0)
    return view.sides if wide == len(view.sides) else tuple(f"value {place + 1}" for place in range(wide))


def _changes(view: ComparisonView) -> str:
    if not view.rows:
        return ""
    head = ("Metric", "Configuration", "Side", "Verdict", "Change", "From", "To", "p", "Could have found")
    body = "\n".join([_line(head, escape=True), "|" + "---|" * len(head), *(_change(row) for row in view.rows)])
    told = f"Intervals: {view.confidence} confidence; the launch is the unit."
    return f"## Changes\n\n{body}\n\n{told} Rows marked (decides) decide; the others are corrected for their number."


def _line(cells: tuple[str, ...], *, escape: bool = False) -> str:
    return "| " + " | ".join(plain(cell) if escape else cell for cell in cells) + " |"


def _change(row: ChangeRow) -> str:
    numbers = [plain(text) for text in (row.effect, row.baseline, row.value)]
    struck = [f"~~{text}~~" if row.struck and text else text for text in numbers]
    title = f"**{plain(row.title)}** (decides)" if row.primary else plain(row.title)
    word = plain(row.word)
    after = tuple(plain(text) for text in (row.probability, row.detectable))
    return _line((title, plain(row.configuration), plain(row.side), word, *struck, *after))


def _overview(view: ComparisonView) -> str:
    if not view.overview:
        return ""
    rows = [(row.side, *(shown.full for shown in row.cells), row.word) for row in view.overview]
    return "## Side by side\n\n" + table(("", *view.heads, "Against the first"), rows)


def _notes(view: ComparisonView) -> str:
    return "## To know\n\n" + "\n".join(f"- {plain(note)}" for note in view.notes) if view.notes else ""


def _context(view: ComparisonView) -> str:
    rows = [(row.field, *row.values) for row in view.mismatches if row.kind == "context"]
    return (
        "## Context that differs\n\nRecorded, and never a reason to refuse.\n\n" + table(("Field", *_columns(view)), rows) if rows else ""
    )
