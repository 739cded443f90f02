"""What does the workbook of an evaluation contain?  Scores, decisions, outcomes, and a row for every answer with its texts and scores."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from fireassay.estimates.estimate import Estimate
from fireassay.kinds.evaluation import tables
from fireassay.reports.figures import ends
from fireassay.reports.page import Blocks, Cell, Figure, Raw, Section, Table, heads
from fireassay.reports.view import View

MOST_ROWS: Final = 100_000  # of the sheet of items; the record has all


def sheets(view: View) -> tuple[Section, ...]:
    """The sheets that only an evaluation has."""
    return (
        _data("Scores", partial(_scores, view)),
        *((_data("Held", partial(_held, view)),) if tables.of(view).held else ()),
        *((_data("Calibration", partial(_calibration, view)),) if tables.of(view).calibration else ()),
        _data("Outcomes", partial(tables.outcomes, view)),
        _data("Items", partial(_items, view)),
    )


def _data(name: str, content: Callable[[], Blocks]) -> Section:
    return Section(key=f"sheet-{name}", title=name, role="data", content=content)


def _scores(view: View) -> Blocks:
    """A row for each task, subgroup, score and side."""
    rows: list[tuple[Cell, ...]] = []
    for row in (*tables.of(view).scores, *tables.of(view).groups):
        for column in view.columns:
            value = row.values[column.key]
            numbers = (*ends(value), "") if isinstance(value, Estimate) else (None, None, None, value.detail)
            rows.append((row.task, row.group, row.label, row.title, column.label, row.items, *numbers))
    head = heads("Task", "Group", "Label", "Score", "Side", "Items", "Value", "Low", "High", "Reason")
    return (Table(name="sheet", heads=head, rows=tuple(rows)),)


def _held(view: View) -> Blocks:
    """A row for each decision."""
    rows: list[tuple[Cell, ...]] = []
    for row in tables.of(view).held:
        numbers = ends(row.change) if isinstance(row.change, Estimate) else (None, None, None)
        rows.append((row.column, row.task, row.metric, tables.mark(row), *numbers, row.items, row.worse, row.better, row.sentence))
    head = heads("Side", "Task", "Score", "Decision", "Change", "Low", "High", "Items", "Worse", "Better", "Sentence")
    return (Table(name="sheet", heads=head, rows=tuple(rows)),)


def _calibration(view: View) -> Blocks:
    """A row for each bin of each side, from the least confident choices."""
    rows: list[tuple[Cell, ...]] = []
    for side in tables.of(view).calibration:
        for one in side.bins:
            rows.append((side.column, one.items, Figure(value=one.confidence, style="0.0000"), *ends(one.right)))
    head = heads("Side", "Items", "Mean confidence", "Right", "Low", "High")
    return (Table(name="sheet", heads=head, rows=tuple(rows)),)


def _items(view: View) -> Blocks:
    """Every answer, up to what a sheet should hold."""
    frame = tables.of(view).items
    if frame is None:
        return ()
    titles = tuple(name.replace("_", " ").capitalize() for name in frame.columns)
    return (Raw(name="items", heads=titles, frame=frame.head(MOST_ROWS)),)
