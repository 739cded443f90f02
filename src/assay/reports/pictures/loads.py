"""What do the pictures of a load share?  Lines over the load, one colour and shape per engine, one picture per scenario."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import altair as alt

from assay.metrics.estimate import Estimate
from assay.metrics.format import Scale
from assay.reports.pictures.base import (
    CATEGORIES,
    LOG_FROM,
    SHAPES,
    Key,
    Rows,
    above,
    colour,
    data,
    has_interval,
    number_axis,
    sized,
    top_of,
)  # fmt: skip
from assay.reports.view import Column, MetricRow, View

AXIS: Final = {"concurrency": "requests in flight", "rate": "requests per second offered", "": "load"}


@dataclass(frozen=True, kw_only=True)
class Line:
    """The loads of one engine under one scenario, by ascending load."""

    name: str
    columns: tuple[Column, ...]
    place: int  # of its colour and shape

    @property
    def role(self) -> str:
        """Its colour."""
        return CATEGORIES[self.place % len(CATEGORIES)]

    @property
    def shape(self) -> str:
        """Its mark."""
        return SHAPES[self.place % len(SHAPES)]


def scenarios(view: View) -> tuple[str, ...]:
    """The scenarios, each once, in the order asked for."""
    return tuple(dict.fromkeys(column.scenario for column in view.columns))


def lines(
    view: View, by: Callable[[Column], str], within: Callable[[Column], bool] = lambda _: True
) -> tuple[Line, ...]:
    """The columns grouped by a condition; a colour belongs to a name, whatever else the picture shows."""
    names = list(dict.fromkeys(by(column) for column in view.columns))
    found = []
    for place, name in enumerate(names):
        own = tuple(column for column in view.columns if by(column) == name and within(column))
        if own:
            found.append(Line(name=name, columns=tuple(sorted(own, key=lambda c: c.load or 0.0)), place=place))
    return tuple(found)


def load_axis(view: View, field: str = "x") -> alt.X:
    """The horizontal axis: every load has its tick."""
    loads = sorted({column.load or 0.0 for column in view.columns})
    low, high = loads[0], loads[-1]
    wide = low > 0.0 and high / low > LOG_FROM
    room = 0.06 * (high - low) or 0.5
    scale = (
        alt.Scale(type="log", domain=[low / 1.2, high * 1.2], nice=False)
        if wide
        else alt.Scale(domain=[max(0.0, low - room), high + room], nice=False)
    )
    return alt.X(
        f"{field}:Q",
        scale=scale,
        axis=alt.Axis(title=AXIS[view.load_word], values=_apart(loads, wide), format=",.4~g", grid=False),
    )


def _apart(loads: Sequence[float], wide: bool) -> list[float]:
    """The loads whose labels do not touch."""
    place = math.log if wide else float
    span = (place(loads[-1]) - place(loads[0])) or 1.0
    kept: list[float] = []
    for load in reversed(loads):
        if not kept or (place(kept[-1]) - place(load)) / span > 0.07:
            kept.append(load)
    return kept[::-1]


def estimate(row: MetricRow | None, column: Column) -> Estimate | None:
    """A metric's number at one load, if it was measured."""
    cell = row.cells.get(column.key) if row is not None else None
    return cell.value if cell is not None and isinstance(cell.value, Estimate) else None


def over_loads(
    view: View, row: MetricRow, found: Sequence[Line], scale: Scale, *, height: int = 230, ceiling: float | None = None
) -> Any:
    """Lines with intervals over the load."""
    values = [value for line in found for column in line.columns if (value := estimate(row, column)) is not None]
    top = min(top_of(values, scale.factor), ceiling if ceiling is not None else math.inf)
    y = vertical(top)
    layers = [layer for line in found for layer in _layers(view, row, line, scale, top, y)]
    return sized(
        alt.layer(*layers).properties(title=above(f"{row.title}, {scale.label}" if scale.label else row.title)), height
    )


def vertical(top: float, low: float = 0.0) -> Callable[[str], alt.Y]:
    """Makes the vertical channel of a field."""
    return lambda field: alt.Y(
        f"{field}:Q", scale=alt.Scale(domain=[low, top], nice=False, clamp=True), axis=number_axis(title=None)
    )


def _layers(view: View, row: MetricRow, line: Line, scale: Scale, top: float, y: Callable[[str], alt.Y]) -> list[Any]:
    rows: Rows = [
        marked(value, scale.factor, top) | {"x": column.load or 0.0}
        for column in line.columns if (value := estimate(row, column)) is not None
    ]  # fmt: skip
    return drawn(rows, line, load_axis(view), y) if rows else []


def marked(value: Estimate, factor: float, top: float = math.inf) -> dict[str, Any]:
    """A value and its interval in shown units, cut off at the top of the picture."""
    shown = value.value * factor
    bounded = has_interval(value)
    low = max(0.0, value.low * factor) if bounded and math.isfinite(value.low) else (0.0 if bounded else shown)
    high = min(value.high * factor, top) if bounded else shown
    return {"value": shown, "low": low, "high": high if math.isfinite(high) else top, "hollow": not bounded}


def drawn(rows: Rows, line: Line, x: alt.X, y: Callable[[str], alt.Y]) -> list[Any]:
    """A line, its intervals and its marks."""
    base = alt.Chart(data(rows))
    tint = colour(line.role)
    look: dict[str, Any] = {"shape": line.shape, "filled": True, "opacity": 1.0, "size": 62}
    return [
        base.mark_line(color=tint, strokeWidth=1.8).encode(x=x, y=y("value")),
        base.mark_rule(color=tint, strokeWidth=1.6).encode(x=x, y=y("low"), y2="high:Q"),
        base.transform_filter("!datum.hollow").mark_point(color=tint, stroke=colour("paper"), strokeWidth=1, **look).encode(x=x, y=y("value")),
        base.transform_filter("datum.hollow").mark_point(fill=colour("paper"), stroke=tint, strokeWidth=2, **look).encode(x=x, y=y("value")),
    ]  # fmt: skip


def line_keys(view: View, found: Sequence[Line], what: str = "") -> list[Key]:
    """One entry per line, and what its bars mean."""
    keys = [Key(mark=line.shape, role=line.role, text=line.name or what or "server") for line in found]
    return [
        *keys,
        Key(mark="line", role="muted", text=f"bars: {view.confidence} interval; hollow: one launch, no interval"),
    ]
