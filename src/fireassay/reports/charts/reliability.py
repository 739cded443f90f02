"""Is a model as sure as it is right?  Reliability diagrams: share of right choices over stated confidence, a panel for each side.

Bins hold as many items each; on the diagonal a confidence means what it says, below it the model is over-confident.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from fireassay.estimates.format import Scale, count, reading, show
from fireassay.reports.charts.chart import Drawing, Key, Missing, linear, point
from fireassay.reports.charts.marks import Axis, Line, Mark, Panel, Point
from fireassay.reports.view import CalibrationBin, CalibrationRow, View
from fireassay.units import SCORE

NAME: Final = "reliability"
TITLE: Final = "Right choices over stated confidence"
MOST: Final = 8  # panels; the table has all sides
ROOM: Final = 0.04  # above 1, so that its label leaves the title alone
PLAIN: Final = Scale(factor=1.0)
BINS: Final = "Bins hold as many items each. Calibration error over ten bins of equal width, less its bias: "


def draw(view: View) -> Drawing | Missing:
    """A panel for each side."""
    every = [row for row in (view.evaluation.calibration if view.evaluation is not None else ()) if row.bins]
    if not every:
        return Missing(title=TITLE, reason="No task was answered by log probabilities of choices.")
    rows = every[:MOST]
    left = f" {count(len(every) - MOST, 'more sides')}: see the table." if len(every) > MOST else ""
    several = len(rows) > 1
    return Drawing(
        title=TITLE,
        panels=tuple(_panel(row, _low(rows), several) for row in rows),
        across=2 if several else 1,
        caption=f"{BINS}{'; '.join(_error(row, several) for row in rows)}.{left}",
        description="; ".join(row.sentence for row in rows),
        key=(
            Key(mark="point", role="blue", text=f"items of about one confidence, with {view.confidence} interval"),
            Key(mark="dash", role="soft", text="as sure as right"),
        ),
        quantity="share right",
    )


def _low(rows: Sequence[CalibrationRow]) -> float:
    """One scale for all panels and both directions, from a tenth below everything."""
    return max(0.0, math.floor(10.0 * min(min(one.confidence, one.right.low) for row in rows for one in row.bins)) / 10.0)


def _panel(row: CalibrationRow, low: float, several: bool) -> Panel:
    diagonal: Mark = Line(points=((low, low), (1.0, 1.0)), role="soft", dashed=True, thin=True)
    return Panel(
        x=_axis(low, "mean confidence"),
        y=replace(_axis(low), high=1.0 + ROOM),
        marks=(diagonal, *(_point(row.column if several else "", one) for one in row.bins)),
        height=230,
        title=f"{row.column}: share right" if several else "share right",
    )


def _axis(low: float, title: str = "") -> Axis:
    return linear(low, 1.0, title)


def _point(side: str, one: CalibrationBin) -> Point:
    name = f"{side}{', ' if side else ''}{count(one.items, 'items')} at a mean confidence of {sure(one)}"
    return point(name, one.confidence, one.right, PLAIN)


def _error(row: CalibrationRow, several: bool) -> str:
    return f"{row.column} {show(row.error).full}" if several else show(row.error).full


def sure(one: CalibrationBin) -> str:
    """A mean confidence, rounded so that it stays inside or outside of the interval of the share."""
    return reading(one.confidence, SCORE, beside=(one.right.low, one.right.high))
