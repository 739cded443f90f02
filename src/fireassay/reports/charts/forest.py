"""Which metrics changed, by how much, and which changes are too small to matter?

A forest plot of ratios.
"""

from __future__ import annotations

import math

from fireassay.estimates.format import given
from fireassay.reports.charts.chart import Drawing, Key, Missing, linear, rows_axis, written_tick
from fireassay.reports.charts.marks import Area, Mark, Panel, Point, Reading, Role, Rule
from fireassay.reports.pages.comparison_view import ChangeRow, ComparisonView

TITLE = "Changes against the first side"
MOST = 100.0  # per cent; an interval end beyond it is drawn pointed, at the edge
ROW_HEIGHT = 36


def draw(view: ComparisonView) -> Drawing | Missing:
    """Ratios with intervals at the deciding configuration, with the equivalence band."""
    rows = [row for row in view.deciding if row.change.ratio is not None and (row.primary or row.shown)]
    if not rows:
        return Missing(title=TITLE, reason="No metric has a ratio with an interval here.")
    band = view.equivalence * 100.0
    low, high = _reach(rows, band)
    marks: list[Mark] = [Area(left=-band / (1 + band / 100), right=band, role="soft", strong=0.22), Rule(x=0.0)]
    points = [_point(row, view, index) for index, row in enumerate(rows)]
    keys = [Key(mark="point", role="blue", text=f"change and {view.confidence} interval")]
    keys += [Key(mark="point", role="grey", text="struck out")] if any(row.struck for row in rows) else []
    keys.append(Key(mark="band", role="soft", text=f"equivalent: within {given(band)} %"))
    caption = "An interval that leaves the band and excludes 0 is a change. " + (view.word if view.exploratory else "")
    x = linear(low, high, f"change against {view.sides[0]}, %")
    return Drawing(
        title=TITLE,
        panels=(Panel(x=x, y=rows_axis((_label(row, view) for row in rows), ROW_HEIGHT), marks=(*marks, *points)),),
        caption=caption.strip(),
        description=" ".join(f"{row.sentence}." for row in rows),
        key=tuple(keys),
        quantity="change, %",
    )


def _reach(rows: list[ChangeRow], band: float) -> tuple[float, float]:
    """Axis limits: all values, and finite interval ends within MOST."""
    ends = [-band * 1.5, band * 1.5]
    for row in rows:
        change = row.change
        finite = [end for end in (change.low, change.high) if end is not None and math.isfinite(end)]
        ends += [min(max(100.0 * (end - 1.0), -MOST), MOST) for end in finite]
        ends.append(100.0 * ((change.ratio or 1.0) - 1.0))
    room = 0.06 * (max(ends) - min(ends))
    return min(ends) - room, max(ends) + room


def _point(row: ChangeRow, view: ComparisonView, index: int) -> Point:
    change = row.change
    left, right = (100.0 * (bound - 1.0) for bound in (change.low or 0.0, change.high if change.high is not None else math.inf))
    bounded = math.isfinite(left) and math.isfinite(right)
    value = 100.0 * ((change.ratio or 1.0) - 1.0)
    role: Role = "grey" if row.struck else "blue"
    interval = f"[{written_tick(left)}, {written_tick(right)}]" if bounded else "no interval"
    told = Reading(
        name=_label(row, view),
        text=f"{written_tick(value)} %",
        interval=interval,
        value=value,
        low=left if bounded else None,
        high=right if bounded else None,
        level=view.confidence,
        more=row.sentence,
    )
    return Point(
        x=value, y=index, left=left if bounded else None, right=right if bounded else None, role=role, hollow=not bounded, reading=told
    )


def _label(row: ChangeRow, view: ComparisonView) -> str:
    return row.title if len(view.sides) == 2 else f"{row.title}, {row.side}"
