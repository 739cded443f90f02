"""How are the latencies distributed, tail included?  Percentile curves with the intervals of p50, p95 and p99."""

from __future__ import annotations

import math

import altair as alt

from assay.metrics.estimate import Estimate
from assay.metrics.format import scale_for
from assay.reports.pictures.base import (
    CATEGORIES,
    Drawing,
    Key,
    Missing,
    Rows,
    above,
    colour,
    data,
    has_width,
    number_axis,
    sized,
)
from assay.reports.serving_series import LATENCIES
from assay.reports.view import View

TITLES = {
    "ttft_s": "Time to first token by percentile",
    "tpot_s": "Time per output token by percentile",
    "e2e_s": "End-to-end latency by percentile",
}
KNOWN = {"ttft_s": "ttft", "tpot_s": "tpot", "e2e_s": "e2e"}
MOST = 6
TICKS = (0.5, 0.9, 0.95, 0.99, 0.999, 0.9999)


def draw(view: View) -> list[Drawing | Missing]:
    """One picture per latency."""
    return [] if view.serving is None else [_of(view, latency) for latency, _ in LATENCIES]


def place(share: float) -> float:
    """Where a share stands: equal factors of what lies beyond are equally far apart."""
    return -math.log10(max(1.0 - share, 1e-6))


def _of(view: View, latency: str) -> Drawing | Missing:
    assert view.serving is not None
    curves = [curve for curve in view.serving.curves if curve.latency == latency]
    if not curves:
        return Missing(title=TITLES[latency], reason="No answer had such a time.")
    chosen = curves if len(curves) <= MOST else [curves[round(i * (len(curves) - 1) / (MOST - 1))] for i in range(MOST)]
    scale = scale_for("s", (points[-1][1] for c in chosen if (points := c.points)))
    values = [seconds * scale.factor for curve in chosen for _, seconds in curve.points if seconds > 0]
    low, high = min(values) / 1.15, max(values) * 1.2
    right = max(place(curve.points[-1][0] / 100) for curve in chosen)
    x = alt.X(
        "x:Q", scale=alt.Scale(domain=[0, right * 1.03], nice=False),
        axis=alt.Axis(
            title="share of requests that were at least as fast", grid=False, values=[place(t) for t in TICKS if place(t) <= right * 1.03],
            labelExpr=f"round((1 - pow(10, -datum.value)) * {10**6}) / {10**4} + ' %'",
        ),
    )  # fmt: skip
    wide = high / low > 10.0
    y_scale = alt.Scale(type="log", domain=[low, high], nice=False) if wide else alt.Scale(domain=[0, high], nice=False)

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", scale=y_scale, axis=number_axis(title=None, format=",.4~g"))

    layers, keys = [], []
    for number, curve in enumerate(chosen):
        role = CATEGORIES[number % len(CATEGORIES)]
        rows: Rows = [{"x": place(p / 100), "value": max(s * scale.factor, low)} for p, s in curve.points]
        layers.append(alt.Chart(data(rows)).mark_line(color=colour(role), strokeWidth=2).encode(x=x, y=y("value")))
        bars = _bars(view, latency, curve.configuration, scale.factor, low, high, right)
        if bars:
            layers.append(
                alt.Chart(data(bars)).mark_rule(color=colour(role), strokeWidth=2).encode(x=x, y=y("low"), y2="high:Q")
            )
        keys.append(Key(mark="line", role=role, text=f"{view.label(curve.configuration)} ({curve.requests} requests)"))
    keys.append(
        Key(mark="point", role="muted", text=f"bars: {view.confidence} intervals of p50, p95 and p99 between launches")
    )
    shown = f" {len(chosen)} of {len(curves)} loads are drawn." if len(chosen) < len(curves) else ""
    return Drawing(
        title=TITLES[latency], chart=sized(alt.layer(*layers).properties(title=above(f"{scale.label}, from when the request was due"))),
        caption=f"Answered requests of the measured windows; a curve ends where fewer than ten lie beyond.{shown}",
        description=_words(view, latency), key=tuple(keys),
    )  # fmt: skip


def _bars(view: View, latency: str, key: str, factor: float, low: float, high: float, right: float) -> Rows:
    rows: Rows = []
    for percent in (50, 95, 99):
        row = view.metric(f"{KNOWN[latency]}_p{percent}")
        cell = row.cells.get(key) if row is not None else None
        if (
            cell is not None
            and isinstance(cell.value, Estimate)
            and has_width(cell.value)
            and place(percent / 100) <= right * 1.03
        ):
            rows.append({
                "x": place(percent / 100), "low": max(cell.value.low * factor, low),
                "high": min(cell.value.high * factor, high) if math.isfinite(cell.value.high) else high,
            })  # fmt: skip
    return rows


def _words(view: View, latency: str) -> str:
    parts = []
    for percent in (50, 95, 99):
        row = view.metric(f"{KNOWN[latency]}_p{percent}")
        if row is not None:
            cells = ((column.label, row.cells.get(column.key)) for column in view.columns)
            parts.append(
                f"p{percent}: " + "; ".join(f"{label} {cell.full}" for label, cell in cells if cell is not None)
            )
    return ". ".join(parts) + "."
