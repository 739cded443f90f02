"""How much latency does throughput cost?

The throughput-latency curve, one line per engine, with the operating point marked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import Scale, given
from fireassay.metrics.metric import Table
from fireassay.reports.charts import vega
from fireassay.reports.charts.chart import (
    HEIGHT,
    Drawing,
    Key,
    Missing,
    Rows,
    above,
    colour,
    common_scale,
    interval_row,
    limits,
    sized,
    top_of,
    vertical,
)
from fireassay.reports.charts.serving.lines import (
    CHARACTER,
    PLOT,
    SMALL,
    Line,
    drawn,
    engines_of,
    estimate,
    estimates_of,
    line_keys,
    lines,
    scenarios,
    side_by_side,
    titled,
)
from fireassay.reports.view import Column, MetricRow, View

NAME = "load-curve"
TITLE: Final = "Latency against throughput"
LABEL_SIZE: Final = 12
ENOUGH: Final = 0.6  # share of the loads at which any of the metrics has a number


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
    across, up = _measured(view, "curve across", every), _measured(view, "curve up", every)
    plane = _Plane(across=across, up=up) if across is not None and up is not None else None
    if plane is None or not any(plane.point(column) for column in view.columns):
        return [Missing(title=TITLE, reason="Throughput and a latency were not both measured at any load.")]
    names = scenarios(view)
    charts = [_chart(view, plane, name, small=len(names) > 1) for name in names]
    keys = line_keys(view, every, estimates_of(up, every))
    if any(_operating(view, plane, name) for name in names):
        keys.append(Key(mark="ring", role="ink", text="operating point: the largest load that meets the objectives"))
    over = f"{titled(plane.up, plane.high)} over {_across(plane)}. " if len(names) > 1 else ""
    return [
        Drawing(
            title=TITLE,
            chart=side_by_side(charts) if len(names) > 1 else sized(charts[0]),
            key=tuple(keys),
            description=_words(view, plane),
            caption=f"{over}Numbers at the points are loads ({AXIS_WORDS[view.load_word]}). Lower right is better.",
        )
    ]


AXIS_WORDS: Final = {"concurrency": "requests in flight", "rate": "requests offered per second", "": "as planned"}


def _measured(view: View, table: Table, engine_lines: tuple[Line, ...]) -> MetricRow | None:
    """The first metric with numbers at most loads: a tail estimated at one load only makes no curve."""
    rows = [(row, len(estimates_of(row, engine_lines))) for _, row in view.shown_in(table)]
    most = max((known for _, known in rows), default=0)
    return next((row for row, known in rows if known and known >= ENOUGH * most), None)


def _across(plane: _Plane) -> str:
    return titled(plane.across, plane.wide)[:1].lower() + titled(plane.across, plane.wide)[1:]


def _chart(view: View, plane: _Plane, scenario: str, *, small: bool) -> vega.Chart:
    engine_lines = engines_of(view, scenario)
    every = lines(view, lambda column: column.engine) if small else engine_lines  # small multiples share their axes
    right = top_of(estimates_of(plane.across, every), plane.wide.factor)
    top = top_of(estimates_of(plane.up, every), plane.high.factor)
    title = None if small else _across(plane)
    x = vega.x("x:Q", scale=limits(0, right), axis=vega.axis(title=title, grid=False, tickCount=3 if small else 5))
    y = vertical(0, top, clamp=True)
    layers, labelled = [], []
    for line in engine_lines:
        rows = list(_rows(plane, line, top))
        labelled += rows
        layers += drawn(rows, line, x, y) if rows else []
    size = SMALL if small else (PLOT, HEIGHT - 60)
    layers += [_labels(_spread(labelled, right, top, size), x, y)]
    if ring := _operating(view, plane, scenario):
        look: dict[str, Any] = {"shape": "circle", "filled": False, "strokeWidth": 2.5, "stroke": colour("ink")}
        layers.append(vega.chart(ring).mark("point", size=340, **look).encode(x=x, y=y("value")))
    chart = vega.layer(*layers).properties(title=above(scenario if small else titled(plane.up, plane.high)))
    return chart.properties(width=SMALL[0], height=SMALL[1]) if small else chart


def _rows(plane: _Plane, line: Line, top: float) -> Iterator[dict[str, Any]]:
    for column in line.columns:
        if (point := plane.point(column)) is not None:
            a, b = point
            shown = interval_row(b, plane.high.factor, 0.0, top)
            yield {**shown, "x": a.value * plane.wide.factor, "load": "" if column.load is None else given(column.load)}


def _spread(rows: Rows, right: float, top: float, size: tuple[int, int]) -> Rows:
    """Labels that touch neither each other nor a mark: above right of a point, else below it, else omitted."""
    marks = [(row["x"] / right * size[0], row["value"] / top * size[1]) for row in rows]
    taken: list[tuple[float, float, float]] = []  # centre and half width of labels
    kept: Rows = []
    for row, (across, up) in zip(rows, marks, strict=True):
        half = len(row["load"]) * LABEL_SIZE * CHARACTER / 2
        for dy in (14, -15):
            spot = (across + 9 + half, up + dy, half)
            if _free(spot, taken, marks) and spot[0] + half < size[0] + 8 and up + dy > 4:
                taken.append(spot)
                kept.append({**row, "dy": -dy})
                break
    return kept


def _free(spot: tuple[float, float, float], taken: Sequence[tuple[float, float, float]], marks: Sequence[tuple[float, float]]) -> bool:
    across, up, half = spot
    labels = all(abs(across - x) > half + other + 3 or abs(up - y) > LABEL_SIZE + 1 for x, y, other in taken)
    return labels and all(abs(across - x) > half + 5 or abs(up - y) > LABEL_SIZE / 2 + 5 for x, y in marks)


def _labels(rows: Rows, x: vega.Spec, y: vega.Channel) -> vega.Chart:
    """One layer per offset, because offset is a property of the mark."""
    look: dict[str, Any] = {"dx": 9, "align": "left", "baseline": "middle", "fontSize": LABEL_SIZE, "color": colour("muted")}
    return vega.layer(
        *(
            vega.chart([row for row in rows if row["dy"] == dy]).mark("text", dy=dy, **look).encode(x=x, y=y("value"), text="load:N")
            for dy in (-14, 15)
        )
    )


def _operating(view: View, plane: _Plane, scenario: str) -> Rows:
    """The recommended load of each engine in a scenario."""
    picked = {row.configuration for row in view.recommendations if row.goal.startswith("recommended")}
    points = [plane.point(c) for c in view.columns if c.scenario == scenario and c.key in picked]
    return [
        {"x": a.value * plane.wide.factor, "value": b.value * plane.high.factor}
        for a, b in (point for point in points if point is not None)
    ]


def _words(view: View, plane: _Plane) -> str:
    parts = []
    for column in view.columns:
        a, b = plane.across.cells.get(column.key), plane.up.cells.get(column.key)
        if a is not None and b is not None and a.measured and b.measured:
            parts.append(f"{column.label}: {a.full} at {plane.up.title} {b.full}")
    return "; ".join(parts) + "."
