"""Which metrics changed, by how much, and which changes are too small to matter?  How did a metric develop from record to record?

A forest plot of ratios.  A history has one point with its interval per record, by creation time; a line at each level between changes, and a
vertical line before the first record of a new level.  A suspected change is dashed; an outlier is a hollow point.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from fireassay.estimates.estimate import Estimate, Value
from fireassay.estimates.format import Scale, count, given, scale_for, show
from fireassay.reports.charts.axes import linear, rows_axis, written_tick
from fireassay.reports.charts.model import Area, Axis, Chart, Charts, Course, Drawn, Key, Panel, Point, Reading, Rule, Spot
from fireassay.reports.charts.of_view import workbook
from fireassay.reports.charts.points import point
from fireassay.reports.pages.comparison_view import ChangeRow, ComparisonView
from fireassay.verdict.checking.history import History

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


# ---- from record to record -------------------------------------------------------------------------------------------


MAX_TICKS: Final = 10


def history_chart(history: History, name: str) -> Chart:
    """The chart of one series."""
    title, number = f"{history.title} at {history.configuration}", len(history.points)
    if not history.points:
        return Chart(name=name, title=title, missing="No record holds a value.")
    scale = scale_for(history.unit, [at.value.value for at in history.points])
    ends = [
        end * scale.factor for at in history.points for end in (at.value.value, at.value.low, at.value.high) if abs(end) != float("inf")
    ]
    room = 0.08 * (max(ends) - min(ends)) or abs(max(ends)) * 0.05 or 1.0
    quantity = f"{history.title}, {scale.label}" if scale.label else history.title
    every = -(-number // MAX_TICKS)
    ticks = tuple((float(i), str(i)) for i in range(1, number + 1) if (i - 1) % every == 0)
    panel = Panel(
        x=Axis(low=0.5, high=number + 0.5, ticks=ticks, title="record, in order of creation", grid=False),
        y=linear(min(ends) - room, max(ends) + room),
        marks=tuple(_marks(history, scale)),
        title=quantity,
    )
    return Chart(
        name=name,
        title=title,
        panels=(panel,),
        key=tuple(_key(history)),
        caption=f"{count(number, 'records')} in the order of their creation, each with its interval.",
        description=_words(history, scale),
        quantity=quantity,
    )


def _marks(history: History, scale: Scale) -> Iterator[Drawn]:
    """Levels, changes, and records at positions from 1; an outlier is hollow."""
    for a, b, mean in history.levels:
        yield Rule(y=mean * scale.factor, left=a + 0.5, right=b + 0.5, role="orange")
    for change in history.changes:
        if change.kind in ("change", "suspected"):
            yield Rule(x=change.index + 0.5, role="fail", dashed=change.kind == "suspected")
    for index, at in enumerate(history.points):
        drawn = point(at.label, index + 1.0, at.value, scale)
        yield replace(drawn, hollow=drawn.hollow or index in history.outliers)


def _key(history: History) -> Iterator[Key]:
    kinds = {change.kind for change in history.changes}
    yield Key(mark="point", role="blue", text="record, with its interval")
    yield Key(mark="line", role="orange", text="level")
    if "change" in kinds:
        yield Key(mark="line", role="fail", text="change")
    if "suspected" in kinds:
        yield Key(mark="dash", role="fail", text="suspected: not certain yet")
    if history.outliers:
        yield Key(mark="hollow", role="blue", text="outlier, not part of a level")


def _words(history: History, scale: Scale) -> str:
    parts = [f"{at.label}: {show(at.value, scale).text}" for at in history.points]
    events = [f"{change.kind} before record {change.index + 1}" for change in history.changes]
    events += [f"outlier at record {at + 1}" for at in history.outliers]
    return f"In order: {'; '.join(parts)}. Changes: {', '.join(events) or 'none'}."
