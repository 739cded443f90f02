"""What do the charts of a load share?

Lines over the load, one colour and shape per engine, small multiples by scenario.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import Scale
from fireassay.reports.charts import vega
from fireassay.reports.charts.chart import (
    CATEGORIES,
    FONT_SIZE,
    LOG_FROM,
    SHAPES,
    WIDTH,
    Key,
    Rows,
    above,
    colour,
    common_scale,
    has_interval,
    has_width,
    interval_row,
    limits,
    sized,
    vertical,
)
from fireassay.reports.view import Column, MetricRow, View

AXIS: Final = {"concurrency": "requests in flight", "rate": "requests per second offered", "": "load"}
SMALL: Final = (WIDTH // 2 - 52, 120)  # a small multiple: two side by side fill the common width
CHARACTER: Final = 0.62  # character width, in font sizes
PLOT: Final = WIDTH - 60  # approximate width without the vertical axis


@dataclass(frozen=True, kw_only=True)
class Line:
    """Loads of one engine under one scenario, ascending."""

    name: str
    columns: tuple[Column, ...]
    place: int  # index of its colour and shape

    @property
    def role(self) -> str:
        """Its colour."""
        return CATEGORIES[self.place % len(CATEGORIES)]

    @property
    def shape(self) -> str:
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


# ---- axes --------------------------------------------------------------------------------------------------------


def load_axis(view: View, field: str = "x", *, width: int = PLOT, title: bool = True) -> vega.Spec:
    """Horizontal axis of loads for a chart `width` pixels wide: a tick for every load whose label fits."""
    loads = sorted({column.load or 0.0 for column in view.columns})
    low, high = loads[0], loads[-1]
    wide = low > 0.0 and high / low >= LOG_FROM
    room = 0.06 * (high - low) or 0.5
    scale = vega.scale(type="log", domain=[low / 1.2, high * 1.2], nice=False) if wide else limits(max(0.0, low - room), high + room)
    axis = vega.axis(
        title=AXIS[view.load_word] if title else None, values=apart(loads, wide, width), format=",.4~g", grid=False, labelOverlap=False
    )
    return vega.x(f"{field}:Q", scale=scale, axis=axis)


def apart(loads: Sequence[float], wide: bool, width: int) -> list[float]:
    """Loads whose labels do not touch in a chart `width` pixels wide; the largest always has one."""
    scaled = math.log if wide else float
    span = (scaled(loads[-1]) - scaled(loads[0])) or 1.0
    kept: list[float] = []
    for load in reversed(loads):
        if not kept:
            kept.append(load)
            continue
        pixels = (scaled(kept[-1]) - scaled(load)) / span * width * 0.88
        letters = (len(f"{kept[-1]:g}") + len(f"{load:g}")) / 2 + 1.2
        if pixels > letters * CHARACTER * FONT_SIZE:
            kept.append(load)
    return kept[::-1]


# ---- lines -------------------------------------------------------------------------------------------------------


def estimate(row: MetricRow | None, column: Column) -> Estimate | None:
    """A metric's estimate at one load, if measured."""
    cell = row.cells.get(column.key) if row is not None else None
    return cell.value if cell is not None and isinstance(cell.value, Estimate) else None


def estimates_of(row: MetricRow | None, series: Sequence[Line]) -> list[Estimate]:
    """A metric's estimates along lines."""
    return [value for line in series for column in line.columns if (value := estimate(row, column)) is not None]


def over_loads(
    view: View,
    row: MetricRow,
    series: Sequence[Line],
    *,
    top: float,
    small: bool = False,
    title: str = "",
    beneath: Sequence[vega.Chart] = (),
) -> vega.Chart:
    """Lines with intervals over the load; `small` for small multiples."""
    scale, y = common_scale(row), vertical(0, top, clamp=True)
    x = load_axis(view, width=SMALL[0] if small else PLOT, title=not small)
    layers = [*beneath]
    for line in series:
        rows: Rows = [
            interval_row(value, scale.factor, 0.0, top) | {"x": column.load or 0.0}
            for column in line.columns
            if (value := estimate(row, column)) is not None
        ]
        layers += drawn(rows, line, x, y) if rows else []
    chart = vega.layer(*layers).properties(title=above(title or titled(row, scale)))
    return chart.properties(width=SMALL[0], height=SMALL[1]) if small else sized(chart, 230)


def side_by_side(charts: Sequence[vega.Chart]) -> vega.Chart:
    """Small multiples in two columns."""
    return vega.concat(*charts, columns=2, spacing={"row": 14, "column": 14})


def drawn(rows: Rows, line: Line, x: vega.Spec, y: vega.Channel) -> list[vega.Chart]:
    """A line through the rows in order, with intervals and marks."""
    base = vega.chart([{**row, "order": order} for order, row in enumerate(rows)])
    tint = colour(line.role)
    look: dict[str, Any] = {"shape": line.shape, "filled": True, "opacity": 1.0, "size": 62}
    path = base.mark("line", color=tint, strokeWidth=1.8).encode(x=x, y=y("value"), order=vega.order("order:Q"))
    layers = [path] if len(rows) > 1 else []
    layers.append(base.mark("rule", color=tint, strokeWidth=1.6).encode(x=x, y=y("low"), y2="high:Q"))
    for hollow in sorted({row["hollow"] for row in rows}):
        paint: dict[str, Any] = {"fill": colour("paper"), "stroke": tint} if hollow else {"color": tint, "stroke": colour("paper")}
        marks = vega.chart([row for row in rows if row["hollow"] == hollow])
        layers.append(marks.mark("point", **paint, strokeWidth=2 if hollow else 1, **look).encode(x=x, y=y("value")))
    return layers


def line_keys(view: View, series: Sequence[Line], values: Sequence[Estimate]) -> list[Key]:
    """One entry per line, plus entries for bars and hollow marks if present."""
    keys = [Key(mark=line.shape, role=line.role, text=line.name or "server") for line in series]
    if any(has_width(value) for value in values):
        keys.append(Key(mark="line", role="muted", text=f"bars: {view.confidence} interval"))
    if any(not has_interval(value) for value in values):
        keys.append(Key(mark="hollow", role="muted", text="one launch: no interval"))
    return keys
