"""Is a model as sure as it is right, and which margin can so many items show?

Reliability diagrams: share of right choices over stated confidence, a panel for each side. Bins hold as many items each; on the diagonal a
confidence means what it says, below it the model is over-confident.

Power: the smallest margin that is shown with 80 % power if nothing truly changes and as many items flip as were seen to flip
(`fireassay.stats.comparing.item_power`); the margin and the number of items of the record are marked. A margin below the curve cannot be
shown with so many items.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from fireassay.estimates.format import count, given, percent, reading, show
from fireassay.reports.charts.axes import linear, logarithmic
from fireassay.reports.charts.model import Chart, Key, Line, Panel, Point, Rule, named
from fireassay.reports.charts.points import CATEGORIES, PLAIN, SHAPES, plain, point
from fireassay.reports.view import CalibrationBin, CalibrationRow, PowerRow, View
from fireassay.units import SCORE

MAX_PANELS: Final = 8  # panels; the table has all sides
ROOM: Final = 0.04  # above 1, so that its label leaves the title alone
ABOVE: Final = 1.1  # of the largest margin


@named("reliability")
def reliability(view: View) -> Chart:
    """A panel for each side."""
    title, every = "Right choices over stated confidence", view.evaluation.calibration if view.evaluation is not None else ()
    every = tuple(row for row in every if row.bins)
    if not every:
        return Chart(title=title, missing="No task was answered by log probabilities of choices.")
    rows, several = every[:MAX_PANELS], len(every) > 1
    left = f" {count(len(every) - MAX_PANELS, 'more sides')}: see the table." if len(every) > MAX_PANELS else ""
    # one scale for all panels and both directions, from a tenth below everything
    low = max(0.0, math.floor(10.0 * min(min(one.confidence, one.right.low) for row in rows for one in row.bins)) / 10.0)
    errors = "; ".join(f"{row.column} {show(row.error).full}" if several else show(row.error).full for row in rows)
    return Chart(
        title=title,
        panels=tuple(_panel(row, low, several=several) for row in rows),
        across=2 if several else 1,
        caption=f"Bins hold as many items each. Calibration error over ten bins of equal width, less its bias: {errors}.{left}",
        description="; ".join(row.sentence for row in rows),
        key=(
            Key(mark="point", role="blue", text=f"items of about one confidence, with {view.confidence} interval"),
            Key(mark="dash", role="soft", text="as sure as right"),
        ),
        quantity="share right",
    )


def _panel(row: CalibrationRow, low: float, *, several: bool) -> Panel:
    diagonal = Line(points=((low, low), (1.0, 1.0)), role="soft", dashed=True, thin=True)
    side = f"{row.column}, " if several else ""
    names = ((one, f"{side}{count(one.items, 'items')} at a mean confidence of {sure(one)}") for one in row.bins)
    return Panel(
        x=linear(low, 1.0, "mean confidence"),
        y=replace(linear(low, 1.0), high=1.0 + ROOM),
        marks=(diagonal, *(point(name, one.confidence, one.right, PLAIN) for one, name in names)),
        height=230,
        title=f"{row.column}: share right" if several else "share right",
    )


def sure(one: CalibrationBin) -> str:
    """A mean confidence, rounded so that it stays inside or outside of the interval of the share."""
    return reading(one.confidence, SCORE, beside=(one.right.low, one.right.high))


@named("power")
def power(view: View) -> Chart:
    """A curve for each task and side; its point is the record."""
    title, every = "Margin that the items can show", view.evaluation.power if view.evaluation is not None else ()
    margin = view.evaluation.margin if view.evaluation is not None else None
    if not every or margin is None:
        return Chart(title=title, missing="No margin was given, or items are not right or wrong, each a unit of its own.")
    left, rows = len(every) - len(CATEGORIES), every[: len(CATEGORIES)]
    more = f" {count(left, 'more sides')} {'is' if left == 1 else 'are'} not drawn." if left > 0 else ""
    named_rows = list(zip(_names(rows), rows, CATEGORIES, SHAPES, strict=False))
    sizes = [size for row in rows for size, _ in row.curve]
    panel = Panel(
        x=logarithmic(min(sizes), max(sizes), "items"),
        y=linear(0.0, max(*(change for row in rows for _, change in row.curve), margin) * ABOVE),
        marks=(
            *(Line(points=row.curve, role=role, series=name) for name, row, role, _ in named_rows),
            Rule(y=margin, dashed=True, text=f"margin {given(margin)}"),
            *(_record(name, row, role=role, shape=shape, series=name) for name, row, role, shape in named_rows),
        ),
        height=260,
        title="smallest margin at 80 % power",
    )
    return Chart(
        title=title,
        panels=(panel,),
        caption=f"A margin below the curve cannot be shown with so many items. The point is this record.{more}",
        description=" ".join(_words(name, row, margin) for name, row, _, _ in named_rows),
        key=tuple(
            Key(mark=shape, role=role, text=f"{name}: {percent(row.flips, 4)} of items flipped", series=name)
            for name, row, role, shape in named_rows
        ),
        quantity="smallest margin",
    )


def _names(rows: Sequence[PowerRow]) -> list[str]:
    several = len({row.task for row in rows}) > 1
    return [f"{row.column}, {row.task}" if several else row.column for row in rows]


def _record(name: str, row: PowerRow, **look: Any) -> Point:
    told = plain(name, given(row.supported, 3), row.supported, more=f"with {count(row.items, 'items')}")
    return Point(x=float(row.items), y=row.supported, reading=told, **look)


def _words(name: str, row: PowerRow, margin: float) -> str:
    enough = "enough" if row.supported <= margin else "too few"
    return f"{name}: {count(row.items, 'items')} show {given(row.supported, 3)} or more; {enough} for the margin of {given(margin)}."
