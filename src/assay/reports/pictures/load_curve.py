"""How much latency does throughput cost?  The throughput-latency curve, one line per engine, the operating point marked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import altair as alt

from assay.reports.pictures.base import (
    Drawing,
    Key,
    Missing,
    Rows,
    above,
    colour,
    common_scale,
    data,
    number_axis,
    sized,
    top_of,
)  # fmt: skip
from assay.reports.pictures.loads import Line, drawn, estimate, line_keys, lines, marked, scenarios, vertical
from assay.reports.view import MetricRow, View

TITLE = "What latency throughput costs"
ACROSS = ("output_throughput", "request_throughput", "input_throughput")
LATENCY = ("e2e_p95", "ttft_p95", "e2e_p50", "ttft_p50")


def draw(view: View) -> list[Drawing | Missing]:
    """One picture per scenario: p95 of the first token over tokens per second."""
    if view.serving is None:
        return []
    return [_of(view, scenario) for scenario in scenarios(view)]


def _of(view: View, scenario: str) -> Drawing | Missing:
    several = len(scenarios(view)) > 1
    title = f"{TITLE}: {scenario}" if several else TITLE
    found = lines(view, lambda column: column.engine, lambda column: column.scenario == scenario)
    across, up = _measured(view, ACROSS, found), _measured(view, ("ttft_p95", *LATENCY), found)
    if across is None or up is None:
        return Missing(title=title, reason="Throughput and a latency were not both measured at any load.")
    wide, high = common_scale(across), common_scale(up)
    points = [(a, b) for line in found for c in line.columns if (a := estimate(across, c)) and (b := estimate(up, c))]
    if not points:
        return Missing(title=title, reason="Throughput and a latency were not both measured at any load.")
    right, top = top_of([a for a, _ in points], wide.factor), top_of([b for _, b in points], high.factor)
    x = alt.X(
        "x:Q", scale=alt.Scale(domain=[0, right], nice=False),
        axis=number_axis(title=f"{across.title.lower()}, {wide.label}", grid=False),
    )  # fmt: skip
    y = vertical(top)
    layers = []
    for line in found:
        rows: Rows = []
        for column in line.columns:
            a, b = estimate(across, column), estimate(up, column)
            if a is not None and b is not None:
                rows.append(
                    {
                        **marked(b, high.factor, top),
                        "x": a.value * wide.factor,
                        "load": f"{column.load:g}" if column.load is not None else "",
                    }
                )
        if rows:
            layers += [*drawn(rows, line, x, y), _labels(rows, x, y)]
    picked = _operating(view, scenario, across, up, wide.factor, high.factor)
    if picked:
        layers.append(
            alt.Chart(data(picked))
            .mark_point(shape="circle", size=340, filled=False, strokeWidth=2.5, stroke=colour("ink"))
            .encode(x=x, y=y("value"))
        )
    keys = line_keys(view, found)
    if picked:
        keys.append(Key(mark="ring", role="ink", text="operating point: the largest load that meets the objectives"))
    return Drawing(
        title=title, chart=sized(alt.layer(*layers).properties(title=above(f"{up.title}, {high.label}"))), key=tuple(keys),
        caption=f"Numbers beside the points are loads ({view.load_word or 'load'}). Right and low is better.",
        description=_words(found, across, up),
    )  # fmt: skip


def _measured(view: View, names: tuple[str, ...], found: tuple[Line, ...]) -> MetricRow | None:
    for name in names:
        row = view.metric(name)
        if row is not None and any(estimate(row, column) for line in found for column in line.columns):
            return row
    return None


def _labels(rows: Rows, x: alt.X, y: Callable[[str], alt.Y]) -> Any:
    return (
        alt.Chart(data(rows))
        .mark_text(dx=9, dy=-9, align="left", fontSize=12, color=colour("muted"))
        .encode(x=x, y=y("value"), text="load:N")
    )


def _operating(view: View, scenario: str, across: MetricRow, up: MetricRow, wide: float, high: float) -> Rows:
    chosen = next((c for c in view.columns if c.key == view.recommended and c.scenario == scenario), None)
    if chosen is None:
        return []
    a, b = estimate(across, chosen), estimate(up, chosen)
    return [] if a is None or b is None else [{"x": a.value * wide, "value": b.value * high}]


def _words(found: tuple[Line, ...], across: MetricRow, up: MetricRow) -> str:
    parts = []
    for line in found:
        for column in line.columns:
            a, b = across.cells.get(column.key), up.cells.get(column.key)
            if a is not None and b is not None and a.measured and b.measured:
                parts.append(f"{column.label}: {a.full} at {up.title} {b.full}")
    return "; ".join(parts) + "."
