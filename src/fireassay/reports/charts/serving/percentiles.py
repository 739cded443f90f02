"""How are the latencies distributed, tail included?

Percentile curves with the intervals of p50, p95 and p99.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from fireassay.estimates.format import Scale, scale_for
from fireassay.reports.charts import vega
from fireassay.reports.charts.chart import (
    CATEGORIES,
    LOG_FROM,
    Drawing,
    Key,
    Missing,
    Rows,
    above,
    colour,
    has_width,
    limits,
    log_ticks,
    number_axis,
    sized,
)
from fireassay.reports.series.serving import LATENCIES, PercentileCurve
from fireassay.reports.view import View

NAME = "load-percentiles"
TITLES: Final = {
    "ttft_s": "Time to first token by percentile",
    "tpot_s": "Time per output token by percentile",
    "e2e_s": "End-to-end latency by percentile",
}
FROM: Final = {
    "ttft_s": ", from when the request was due (closed loop: sent)",
    "tpot_s": " per token",
    "e2e_s": ", from when the request was due (closed loop: sent)",
}
KNOWN: Final = {"ttft_s": "ttft", "tpot_s": "tpot", "e2e_s": "e2e"}
MOST: Final = 5  # distinguishable curves
TICKS: Final = (0.5, 0.9, 0.99, 0.999, 0.9999)


@dataclass(frozen=True, kw_only=True)
class _Frame:
    """The chart's range in display units; `place` maps a share to its horizontal position."""

    latency: str
    scale: Scale
    low: float
    high: float
    right: float

    def x(self) -> vega.Spec:
        """Horizontal axis of shares, with the tail stretched."""
        ticks = [place(tick) for tick in TICKS if place(tick) <= self.right]
        axis = vega.axis(
            title="share of requests that were at least as fast",
            grid=False,
            values=ticks,
            labelExpr=f"round((1 - pow(10, -datum.value)) * {10**6}) / {10**4} + ' %'",
        )
        return vega.x("x:Q", scale=limits(0, self.right), axis=axis)

    def y(self, field: str) -> vega.Spec:
        """Vertical axis of seconds, logarithmic if they span more than a decade."""
        wide = self.high / self.low > LOG_FROM
        scale = vega.scale(type="log" if wide else "linear", domain=[self.low, self.high], nice=False)
        ticks = log_ticks(self.low, self.high) if wide else None
        axis = vega.axis(title=None, format=",.4~g", values=ticks) if ticks else number_axis(title=None, format=",.4~g")
        return vega.y(f"{field}:Q", scale=scale, axis=axis)


def draw(view: View) -> list[Drawing | Missing]:
    """One chart per latency."""
    return [_of(view, latency) for latency, _ in LATENCIES]


def place(share: float) -> float:
    """Position of a share: logarithmic in the share beyond it."""
    return -math.log10(max(1.0 - share, 1e-6))


def _of(view: View, latency: str) -> Drawing | Missing:
    curves = [curve for curve in view.load.curves if curve.latency == latency]
    if not curves:
        return Missing(title=TITLES[latency], reason="No answer has this latency.")
    chosen = _chosen(view, curves)
    frame = _frame(latency, chosen)
    layers = [layer for role, curve in zip(CATEGORIES, chosen, strict=False) for layer in _curve(view, frame, curve, role)]
    shown = f" {len(chosen)} of {len(curves)} loads are drawn." if len(chosen) < len(curves) else ""
    return Drawing(
        title=TITLES[latency],
        chart=sized(vega.layer(*layers).properties(title=above(f"{frame.scale.label}{FROM[latency]}"))),
        caption=f"Answered requests of the measured windows; a curve ends where fewer than ten lie beyond.{shown}",
        description=_words(view, latency),
        key=_keys(view, frame, chosen),
    )


def _chosen(view: View, curves: Sequence[PercentileCurve]) -> list[PercentileCurve]:
    """Up to MOST curves: the largest load of each engine and scenario, then the smallest ones, then the others."""
    if len(curves) <= MOST:
        return list(curves)
    groups: dict[str, list[str]] = {}
    for column in view.columns:
        groups.setdefault(column.group, []).append(column.key)
    order = [key for pick in (-1, 0) for keys in groups.values() for key in keys[pick:][:1]]
    order += [key for keys in groups.values() for key in keys[1:-1]]
    kept = [key for key in dict.fromkeys(order) if any(curve.configuration == key for curve in curves)][:MOST]
    return [curve for curve in curves if curve.configuration in kept]


def _frame(latency: str, curves: Sequence[PercentileCurve]) -> _Frame:
    """Limits with a little room around all curves; starting at zero would merge curves that are close together."""
    scale = scale_for("s", (curve.points[-1][1] for curve in curves))
    values = [seconds * scale.factor for curve in curves for _, seconds in curve.points if seconds > 0] or [1.0]
    return _Frame(
        latency=latency,
        scale=scale,
        low=min(values) / 1.12,
        high=max(values) * 1.12,
        right=1.03 * max(place(curve.points[-1][0] / 100) for curve in curves),
    )


def _curve(view: View, frame: _Frame, curve: PercentileCurve, role: str) -> list[vega.Chart]:
    x, y = frame.x(), frame.y
    rows: Rows = [{"x": place(p / 100), "value": max(s * frame.scale.factor, frame.low)} for p, s in curve.points]
    line = vega.chart(rows).mark("line", color=colour(role), strokeWidth=2).encode(x=x, y=y("value"))
    bars = _bars(view, frame, curve.configuration)
    rules = vega.chart(bars).mark("rule", color=colour(role), strokeWidth=2).encode(x=x, y=y("low"), y2="high:Q")
    return [line, rules] if bars else [line]


def _bars(view: View, frame: _Frame, key: str) -> Rows:
    """Intervals of the percentiles that have one, clipped to the chart."""
    rows: Rows = []
    for percent in (50, 95, 99):
        value = view.estimate(f"{KNOWN[frame.latency]}_p{percent}", key)
        if value is not None and has_width(value) and place(percent / 100) <= frame.right:
            low, high = value.low * frame.scale.factor, value.high * frame.scale.factor
            rows.append({"x": place(percent / 100), "low": max(low, frame.low), "high": min(high, frame.high)})
    return rows


def _keys(view: View, frame: _Frame, chosen: Sequence[PercentileCurve]) -> tuple[Key, ...]:
    keys = [
        Key(mark="line", role=role, text=f"{view.label(curve.configuration)} ({curve.requests:,} requests)")
        for role, curve in zip(CATEGORIES, chosen, strict=False)
    ]
    if any(_bars(view, frame, curve.configuration) for curve in chosen):
        text = f"bars: {view.confidence} intervals of p50, p95 and p99, between launches"
        keys.append(Key(mark="line", role="muted", text=text))
    return tuple(keys)


def _words(view: View, latency: str) -> str:
    rows = [(percent, view.metric(f"{KNOWN[latency]}_p{percent}")) for percent in (50, 95, 99)]
    parts = []
    for percent, row in rows:
        if row is not None and row.known:
            cells = ((column.label, row.cells.get(column.key)) for column in view.columns)
            text = "; ".join(f"{label} {cell.full}" for label, cell in cells if cell is not None and cell.measured)
            parts.append(f"p{percent}: {text}")
    return f"{'. '.join(parts)}." if parts else "No percentile has an interval; the curves pool the requests of all launches."
