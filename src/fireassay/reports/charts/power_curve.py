"""Which margin can so many items show?

The smallest margin that is shown with 80 % power if nothing truly changes and as many items flip as were seen to flip
(`fireassay.stats.comparing.item_power`); the margin and the number of items of the record are marked.  A margin below the curve cannot be
shown with so many items.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fireassay.estimates.format import count, given, percent
from fireassay.reports.charts.chart import CATEGORIES, SHAPES, Drawing, Key, Missing, linear, logarithmic, plain
from fireassay.reports.charts.marks import Line, Mark, Panel, Point, Rule
from fireassay.reports.view import PowerRow, View

NAME: Final = "power"
TITLE: Final = "Margin that the items can show"
ROOM: Final = 1.1


def draw(view: View) -> Drawing | Missing:
    """A curve for each task and side; its point is the record."""
    rows = view.evaluation.power if view.evaluation is not None else ()
    margin = view.evaluation.margin if view.evaluation is not None else None
    if not rows or margin is None:
        return Missing(title=TITLE, reason="No margin was given, or items are not right or wrong, each a unit of its own.")
    left = len(rows) - len(CATEGORIES)
    more = f" {count(left, 'more sides')} {'is' if left == 1 else 'are'} not drawn." if left > 0 else ""
    rows = rows[: len(CATEGORIES)]
    names = _names(rows)
    points = [_point(name, row, index) for index, (name, row) in enumerate(zip(names, rows, strict=True))]
    marks: list[Mark] = [
        Line(points=row.curve, role=CATEGORIES[index], series=name) for index, (name, row) in enumerate(zip(names, rows, strict=True))
    ]
    marks += [Rule(y=margin, dashed=True, text=f"margin {given(margin)}"), *points]
    sizes = [size for row in rows for size, _ in row.curve]
    top = max(*(change for row in rows for _, change in row.curve), margin) * ROOM
    panel = Panel(
        x=logarithmic(min(sizes), max(sizes), "items"),
        y=linear(0.0, top),
        marks=tuple(marks),
        height=260,
        title="smallest margin at 80 % power",
    )
    return Drawing(
        title=TITLE,
        panels=(panel,),
        caption=f"A margin below the curve cannot be shown with so many items. The point is this record.{more}",
        description=" ".join(_words(name, row, margin) for name, row in zip(names, rows, strict=True)),
        key=tuple(
            Key(mark=SHAPES[index], role=CATEGORIES[index], text=f"{name}: {percent(row.flips, 4)} of items flipped", series=name)
            for index, (name, row) in enumerate(zip(names, rows, strict=True))
        ),
        quantity="smallest margin",
    )


def _names(rows: Sequence[PowerRow]) -> list[str]:
    several = len({row.task for row in rows}) > 1
    return [f"{row.column}, {row.task}" if several else row.column for row in rows]


def _point(name: str, row: PowerRow, index: int) -> Point:
    told = plain(name, given(row.supported, 3), row.supported, more=f"with {count(row.items, 'items')}")
    return Point(x=float(row.items), y=row.supported, role=CATEGORIES[index], shape=SHAPES[index], reading=told, series=name)


def _words(name: str, row: PowerRow, margin: float) -> str:
    enough = "enough" if row.supported <= margin else "too few"
    return f"{name}: {count(row.items, 'items')} show {given(row.supported, 3)} or more; {enough} for the margin of {given(margin)}."
