"""Which metrics changed, by how much, and which changes are too small to matter?  A forest plot of ratios."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from fireassay.estimates.estimate import Estimate, Value
from fireassay.estimates.format import given
from fireassay.reports.charts.axes import linear, rows_axis, written_tick
from fireassay.reports.charts.model import Area, Axis, Chart, Charts, Course, Key, Panel, Point, Reading, Rule, Spot
from fireassay.reports.charts.of_view import workbook
from fireassay.reports.pages.comparison_view import ChangeRow, ComparisonView

TITLE: Final = "Changes against the first side"
MAX_PERCENT: Final = 100.0  # per cent; an interval end beyond it is drawn pointed, at the edge
ROW_HEIGHT: Final = 36


def forest(view: ComparisonView) -> Chart:
    """Ratios with intervals at the deciding configuration, with the equivalence band."""
    rows = [row for row in view.deciding if row.change.ratio is not None and (row.primary or row.shown)]
    if not rows:
        return Chart(name="forest", title=TITLE, missing="No metric has a ratio with an interval here.")
    band = view.equivalence * 100.0
    area = Area(left=-band / (1 + band / 100), right=band, role="soft", strong=0.22)
    names = [row.title if len(view.sides) == 2 else f"{row.title}, {row.side}" for row in rows]
    points = [_point(row, view, name, index) for index, (row, name) in enumerate(zip(rows, names, strict=True))]
    keys = [Key(mark="point", role="blue", text=f"change and {view.confidence} interval")]
    keys += [Key(mark="point", role="grey", text="struck out")] if any(row.struck for row in rows) else []
    keys.append(Key(mark="band", role="soft", text=f"equivalent: within {given(band)} %"))
    caption = "An interval that leaves the band and excludes 0 is a change. " + (view.word if view.exploratory else "")
    x = linear(*_reach(rows, band), f"change against {view.sides[0]}, %")
    return Chart(
        name="forest",
        title=TITLE,
        panels=(Panel(x=x, y=rows_axis(names, ROW_HEIGHT), marks=(area, Rule(x=0.0), *points)),),
        caption=caption.strip(),
        description=" ".join(f"{row.sentence}." for row in rows),
        key=tuple(keys),
        quantity="change, %",
    )


def _reach(rows: list[ChangeRow], band: float) -> tuple[float, float]:
    """Axis limits: all values, and finite interval ends within MAX_PERCENT."""
    ends = [-band * 1.5, band * 1.5]
    for change in (row.change for row in rows):
        finite = (end for end in (change.low, change.high) if end is not None and math.isfinite(end))
        ends += [min(max(100.0 * (end - 1.0), -MAX_PERCENT), MAX_PERCENT) for end in finite]
        ends.append(100.0 * ((change.ratio or 1.0) - 1.0))
    room = 0.06 * (max(ends) - min(ends))
    return min(ends) - room, max(ends) + room


def _point(row: ChangeRow, view: ComparisonView, name: str, index: int) -> Point:
    change = row.change
    left, right = (100.0 * (bound - 1.0) for bound in (change.low or 0.0, change.high if change.high is not None else math.inf))
    bounded, value = math.isfinite(left) and math.isfinite(right), 100.0 * ((change.ratio or 1.0) - 1.0)
    low, high = (left, right) if bounded else (None, None)
    interval = f"[{written_tick(left)}, {written_tick(right)}]" if bounded else "no interval"
    told = Reading(name=name, text=f"{written_tick(value)} %", interval=interval, value=value, low=low, high=high, level=view.confidence)
    told = replace(told, more=row.sentence)
    return Point(x=value, y=index, left=low, right=high, role="grey" if row.struck else "blue", hollow=not bounded, reading=told)


def forest_in_cells(rows: Sequence[ChangeRow]) -> Charts:
    """For a workbook: the changes with a ratio as bars from no change; what is struck out decides nothing and is not drawn."""
    known = [row for row in rows if row.effect is not None and row.change.ratio is not None and not row.struck]
    several = len({row.side for row in known}) > 1
    names = [f"{row.title}{f', {row.side}' if several else ''}{' (decides)' if row.primary else ''}" for row in known]
    spots = tuple(Spot(name=name, x=None, y=_in_percent(row)) for name, row in zip(names, known, strict=True))
    bars = Course(name="change", quantity="Change, %", spots=spots, look="bar")
    return (workbook(TITLE, (bars,), Axis(), Axis(title="change, %"), stub="Metric"),) if known else ()


def _in_percent(row: ChangeRow) -> Value | None:
    """A ratio as a change from 0, in per cent."""
    ratio = row.effect.value if row.effect is not None else None
    if not isinstance(ratio, Estimate):
        return ratio
    value, low, high = (100.0 * (end - 1.0) for end in (ratio.value, ratio.low, ratio.high))
    return replace(ratio, value=value, low=low, high=high)
