"""What do the charts of a load share?

Lines over the load, one colour and shape per engine, small multiples by scenario.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import Scale
from fireassay.reports.charts.chart import CATEGORIES, SHAPES, Key, common_scale, has_interval, has_width, levels_axis, linear, point
from fireassay.reports.charts.marks import Axis, Mark, Panel, Point, Role, Shape
from fireassay.reports.charts.marks import Line as Path
from fireassay.reports.view import Column, MetricRow, View

AXIS: Final = {"concurrency": "requests in flight", "rate": "requests per second offered", "": "load"}
SMALL: Final = 120  # height of a small multiple


@dataclass(frozen=True, kw_only=True)
class Line:
    """Loads of one engine under one scenario, ascending."""

    name: str
    columns: tuple[Column, ...]
    place: int  # index of its colour and shape

    @property
    def role(self) -> Role:
        """Its colour."""
        return CATEGORIES[self.place % len(CATEGORIES)]

    @property
    def shape(self) -> Shape:
        """Its mark."""
        return SHAPES[self.place % len(SHAPES)]


def scenarios(view: View) -> tuple[str, ...]:
    """Distinct scenarios in the requested order."""
    return tuple(dict.fromkeys(column.scenario for column in view.columns))


def lines(view: View, by: Callable[[Column], str], within: Callable[[Column], bool] = lambda _: True) -> tuple[Line, ...]:
    """Columns grouped by a condition; a name keeps its colour in every chart."""
    names = list(dict.fromkeys(by(column) for column in view.columns))
    result = []
    for index, name in enumerate(names):
        columns = tuple(column for column in view.columns if by(column) == name and within(column))
        if columns:
            result.append(Line(name=name, columns=tuple(sorted(columns, key=lambda c: c.load or 0.0)), place=index))
    return tuple(result)


def engines_of(view: View, scenario: str) -> tuple[Line, ...]:
    """One line per engine for the loads of one scenario."""
    return lines(view, lambda column: column.engine, lambda column: column.scenario == scenario)


def titled(row: MetricRow, scale: Scale) -> str:
    """Axis title, metric and unit: "Time to first token, p95, ms", "Goodput, requests per second"."""
    if row.unit == "1/s":
        return row.title if "per second" in row.title else f"{row.title}, requests per second"
    return f"{row.title}, {scale.label}" if scale.label else row.title


def load_axis(view: View, *, title: bool = True) -> Axis:
    """Horizontal axis of loads: a tick for every load whose label fits."""
    return levels_axis([column.load or 0.0 for column in view.columns], AXIS[view.load_word] if title else "")


def estimate(row: MetricRow | None, column: Column) -> Estimate | None:
    """A metric's estimate at one load, if measured."""
    cell = row.cells.get(column.key) if row is not None else None
    return cell.value if cell is not None and isinstance(cell.value, Estimate) else None


def estimates_of(row: MetricRow | None, series: Sequence[Line]) -> list[Estimate]:
    """A metric's estimates along lines."""
    return [value for line in series for column in line.columns if (value := estimate(row, column)) is not None]


def over_loads(
    view: View, row: MetricRow, series: Sequence[Line], *, top: float, small: bool = False, title: str = "", beneath: Sequence[Mark] = ()
) -> Panel:
    """Lines with intervals over the load; `small` for small multiples."""
    scale = common_scale(row)
    marks = [*beneath, *(mark for line in series for mark in drawn(row, line, scale, lambda column: column.load or 0.0))]
    y = linear(0, top, most=3 if small else 5)
    return Panel(
        x=load_axis(view, title=not small), y=y, marks=tuple(marks), height=SMALL if small else 200, title=title or titled(row, scale)
    )


def drawn(row: MetricRow, line: Line, scale: Scale, across: Callable[[Column], float]) -> list[Mark]:
    """A line through a metric's estimates in order, with intervals and marks."""
    points = [
        styled(point(column.label, across(column), value, scale), line)
        for column in line.columns
        if (value := estimate(row, column)) is not None
    ]
    return [*path(points, line), *points]


def styled(mark: Point, line: Line) -> Point:
    """A point in the look of its line."""
    return replace(mark, role=line.role, shape=line.shape, series=line.name)


def path(points: Sequence[Point], line: Line) -> list[Mark]:
    """A line through points."""
    return [Path(points=tuple((at.x, at.y) for at in points), role=line.role, thin=True, series=line.name)] if len(points) > 1 else []


def line_keys(confidence: str, series: Sequence[Line], values: Sequence[Estimate]) -> list[Key]:
    """One entry per line, plus entries for bars and hollow marks if present."""
    several = len(series) > 1
    keys = [Key(mark=line.shape, role=line.role, text=line.name or "server", series=line.name if several else "") for line in series]
    if any(has_width(value) for value in values):
        keys.append(Key(mark="point", role="soft", text=f"bars: {confidence} interval"))
    if any(not has_interval(value) for value in values):
        keys.append(Key(mark="hollow", role="soft", text="one launch: no interval"))
    return keys
