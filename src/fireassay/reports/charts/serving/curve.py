"""How much latency does throughput cost?

The throughput-latency curve, one line per engine, with the operating point marked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import Scale, given, show
from fireassay.reports.charts.chart import Drawing, Key, Missing, common_scale, linear, point, top_of
from fireassay.reports.charts.marks import Dot, Mark, Panel, Point
from fireassay.reports.charts.serving.lines import (
    SMALL,
    Line,
    engines_of,
    estimate,
    estimates_of,
    line_keys,
    lines,
    path,
    scenarios,
    styled,
    titled,
)
from fireassay.reports.metric_tables import CURVE_ACROSS, CURVE_UP, MetricTable
from fireassay.reports.view import Column, MetricRow, View

NAME = "load-curve"
TITLE: Final = "Latency against throughput"
ENOUGH: Final = 0.6  # share of the loads at which any of the metrics has a number
CLOSE: Final = 0.1  # of both axes: labels of points closer than that would touch


@dataclass(frozen=True, kw_only=True)
class _Plane:
    """Horizontal throughput and vertical latency: metrics and display scales."""

    across: MetricRow
    up: MetricRow

    @property
    def wide(self) -> Scale:
        return common_scale(self.across)

    @property
    def high(self) -> Scale:
        return common_scale(self.up)

    def point(self, column: Column) -> tuple[Estimate, Estimate] | None:
        """Throughput and latency at one load, if both are measured."""
        a, b = estimate(self.across, column), estimate(self.up, column)
        return None if a is None or b is None else (a, b)


def draw(view: View) -> list[Drawing | Missing]:
    """Tail time to first token over tokens per second; small multiples for several scenarios."""
    every = lines(view, lambda column: column.engine)
    across, up = _measured(view, CURVE_ACROSS, every), _measured(view, CURVE_UP, every)
    plane = _Plane(across=across, up=up) if across is not None and up is not None else None
    if plane is None or not any(plane.point(column) for column in view.columns):
        return [Missing(title=TITLE, reason="Throughput and a latency were not both measured at any load.")]
    names = scenarios(view)
    panels = [_panel(view, plane, name, small=len(names) > 1) for name in names]
    keys = line_keys(view.confidence, every, estimates_of(up, every))
    if any(isinstance(mark, Dot) for panel in panels for mark in panel.marks):
        keys.append(Key(mark="ring", role="ink", text="operating point: the largest load that meets the objectives"))
    over = f"{titled(plane.up, plane.high)} over {_across(plane)}. " if len(names) > 1 else ""
    return [
        Drawing(
            title=TITLE,
            panels=tuple(panels),
            across=2 if len(names) > 1 else 1,
            key=tuple(keys),
            description=_words(view, plane),
            caption=f"{over}Numbers at the points are loads ({AXIS_WORDS[view.load_word]}). Lower right is better.",
            quantity=titled(plane.up, plane.high),
        )
    ]


AXIS_WORDS: Final = {"concurrency": "requests in flight", "rate": "requests offered per second", "": "as planned"}


def _measured(view: View, table: MetricTable, engine_lines: tuple[Line, ...]) -> MetricRow | None:
    """The first metric with numbers at most loads: a tail estimated at one load only makes no curve."""
    rows = [(row, len(estimates_of(row, engine_lines))) for _, row in view.shown_in(table)]
    most = max((known for _, known in rows), default=0)
    return next((row for row, known in rows if known and known >= ENOUGH * most), None)


def _across(plane: _Plane) -> str:
    return titled(plane.across, plane.wide)[:1].lower() + titled(plane.across, plane.wide)[1:]


def _panel(view: View, plane: _Plane, scenario: str, *, small: bool) -> Panel:
    every = lines(view, lambda column: column.engine) if small else engines_of(view, scenario)  # small multiples share their axes
    right = top_of(estimates_of(plane.across, every), plane.wide.factor)
    top = top_of(estimates_of(plane.up, every), plane.high.factor)
    marks: list[Mark] = []
    labelled: list[Point] = []
    for line in engines_of(view, scenario):
        points = [_point(plane, column, line, labelled, right, top) for column in line.columns if plane.point(column) is not None]
        marks += [*path(points, line), *points]
    marks += _operating(view, plane, scenario)
    return Panel(
        x=linear(0, right, "" if small else _across(plane), most=3 if small else 5, grid=False),
        y=linear(0, top, most=3 if small else 5),
        marks=tuple(marks),
        height=SMALL if small else 220,
        title=scenario if small else titled(plane.up, plane.high),
    )


def _point(plane: _Plane, column: Column, line: Line, labelled: list[Point], right: float, top: float) -> Point:
    """A load's point, labelled with its load unless a label is close."""
    found = plane.point(column)
    assert found is not None
    a, b = found
    mark = styled(point(column.label, a.value * plane.wide.factor, b, plane.high), line)
    assert mark.reading is not None
    told = replace(mark.reading, more=f"at {show(a, plane.wide).full}")
    free = all(abs(mark.x - other.x) > CLOSE * right or abs(mark.y - other.y) > CLOSE * top for other in labelled)
    mark = replace(mark, reading=told, label=given(column.load) if free and column.load is not None else "")
    labelled.append(mark)
    return mark


def _operating(view: View, plane: _Plane, scenario: str) -> Sequence[Dot]:
    """The recommended load of each engine in a scenario."""
    picked = {row.configuration for row in view.recommendations if row.goal.startswith("recommended")}
    points = [plane.point(c) for c in view.columns if c.scenario == scenario and c.key in picked]
    return [
        Dot(x=a.value * plane.wide.factor, y=b.value * plane.high.factor, role="ink", hollow=True, large=True)
        for a, b in (found for found in points if found is not None)
    ]


def _words(view: View, plane: _Plane) -> str:
    parts = []
    for column in view.columns:
        a, b = plane.across.cells.get(column.key), plane.up.cells.get(column.key)
        if a is not None and b is not None and a.measured and b.measured:
            parts.append(f"{column.label}: {a.full} at {plane.up.title} {b.full}")
    return "; ".join(parts) + "."
