"""How are the latencies distributed, tail included?

Percentile curves with the intervals of p50, p95 and p99.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from fireassay.estimates.format import Scale, scale_for
from fireassay.reports.charts.chart import CATEGORIES, Drawing, Key, Missing, has_width, point, spanned
from fireassay.reports.charts.marks import Axis, Line, Mark, Panel, Role
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
TICKS: Final = ((0.5, "50 %"), (0.9, "90 %"), (0.99, "99 %"), (0.999, "99.9 %"), (0.9999, "99.99 %"))


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
    scale = scale_for("s", (curve.points[-1][1] for curve in chosen))
    x = _shares(1.03 * max(place(curve.points[-1][0] / 100) for curve in chosen))
    marks = [mark for role, curve in zip(CATEGORIES, chosen, strict=False) for mark in _curve(view, scale, x.high, curve, role)]
    shown = f" {len(chosen)} of {len(curves)} loads are drawn." if len(chosen) < len(curves) else ""
    panel = Panel(x=x, y=_seconds(chosen, scale), marks=tuple(marks), title=f"{scale.label}{FROM[latency]}")
    return Drawing(
        title=TITLES[latency],
        panels=(panel,),
        caption=f"Answered requests of the measured windows; a curve ends where fewer than ten lie beyond.{shown}",
        description=_words(view, latency),
        key=_keys(view, marks, chosen),
        quantity=f"latency, {scale.label}",
    )


def _shares(right: float) -> Axis:
    """Horizontal axis of shares, with the tail stretched."""
    ticks = tuple((place(share), text) for share, text in TICKS if place(share) <= right)
    return Axis(low=0.0, high=right, ticks=ticks, title="share of requests that were at least as fast", grid=False)


def _seconds(curves: Sequence[PercentileCurve], scale: Scale) -> Axis:
    """Limits with a little room around all curves; starting at zero would merge curves that are close together."""
    values = [seconds * scale.factor for curve in curves for _, seconds in curve.points if seconds > 0] or [1.0]
    return spanned(values, min(values) / 1.12, max(values) * 1.12)


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


def _curve(view: View, scale: Scale, right: float, curve: PercentileCurve, role: Role) -> list[Mark]:
    """The curve, and those of its percentiles that have an interval."""
    label = view.label(curve.configuration)
    marks: list[Mark] = [
        Line(points=tuple((place(p / 100), s * scale.factor) for p, s in curve.points), role=role, series=curve.configuration)
    ]
    for percent in (50, 95, 99):
        value = view.estimate(f"{KNOWN[curve.latency]}_p{percent}", curve.configuration)
        if value is not None and has_width(value) and place(percent / 100) <= right:
            name = f"{label}, p{percent}"
            marks.append(point(name, place(percent / 100), value, scale, role=role, series=curve.configuration))
    return marks


def _keys(view: View, marks: Sequence[Mark], chosen: Sequence[PercentileCurve]) -> tuple[Key, ...]:
    keys = [
        Key(mark="line", role=role, text=f"{view.label(curve.configuration)} ({curve.requests:,} requests)", series=curve.configuration)
        for role, curve in zip(CATEGORIES, chosen, strict=False)
    ]
    if any(not isinstance(mark, Line) for mark in marks):
        text = f"{view.confidence} intervals of p50, p95 and p99, between launches"
        keys.append(Key(mark="point", role="soft", text=text))
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
