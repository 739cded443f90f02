"""How are the latencies distributed, tail included?

Percentile curves with the intervals of p50, p95 and p99. A curve pools the counted requests of a configuration's timed launches to show the
shape; the metrics hold the intervals of single percentiles.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from fireassay.estimates.format import Scale, scale_for
from fireassay.frames.record_data import RecordData
from fireassay.reports.charts.axes import spanned
from fireassay.reports.charts.model import Axis, Chart, Drawn, Key, Line, Panel, Role, named
from fireassay.reports.charts.points import CATEGORIES, has_width, point
from fireassay.reports.view import View

LATENCIES: Final = {
    "ttft_s": "Time to first token by percentile",
    "tpot_s": "Time per output token by percentile",
    "e2e_s": "End-to-end latency by percentile",
}
WITH_INTERVAL: Final = (50, 95, 99)
MAX_CURVES: Final = 5  # distinguishable curves
TICKS: Final = ((0.5, "50 %"), (0.9, "90 %"), (0.99, "99 %"), (0.999, "99.9 %"), (0.9999, "99.99 %"))
BEYOND: Final = 10  # requests that must lie beyond a drawn percentile
PERCENTS: Final = (
    *(1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 85, 90, 93, 95, 96, 97, 98, 98.5),
    *(99, 99.3, 99.5, 99.7, 99.8, 99.9, 99.95, 99.99),
)


@dataclass(frozen=True, kw_only=True)
class PercentileCurve:
    """Distribution of a latency in one configuration: (percent, seconds), ascending."""

    configuration: str
    latency: str  # ttft_s, tpot_s or e2e_s
    points: tuple[tuple[float, float], ...]
    requests: int


@named("load-percentiles")
def percentiles(view: View) -> Iterator[Chart]:
    """One chart per latency."""
    every = list(percentile_curves(view.measured))
    for latency, title in LATENCIES.items():
        curves = [curve for curve in every if curve.latency == latency]
        yield _chart(view, latency, title, curves) if curves else Chart(title=title, missing="No answer has this latency.")


def place(share: float) -> float:
    """Position of a share: logarithmic in the share beyond it."""
    return -math.log10(max(1.0 - share, 1e-6))


def _chart(view: View, latency: str, title: str, curves: Sequence[PercentileCurve]) -> Chart:
    chosen = _chosen(view, curves)
    scale = scale_for("s", (curve.points[-1][1] for curve in chosen))
    right = 1.03 * max(place(curve.points[-1][0] / 100) for curve in chosen)
    ticks = tuple((place(share), text) for share, text in TICKS if place(share) <= right)
    marks = [mark for role, curve in zip(CATEGORIES, chosen, strict=False) for mark in _curve(view, scale, right, curve, role)]
    keys = [
        Key(mark="line", role=role, text=f"{view.label(curve.configuration)} ({curve.requests:,} requests)", series=curve.configuration)
        for role, curve in zip(CATEGORIES, chosen, strict=False)
    ]
    if any(not isinstance(mark, Line) for mark in marks):
        keys.append(Key(mark="point", role="soft", text=f"{view.confidence} intervals of p50, p95 and p99, between launches"))
    # starting at zero would merge curves that are close together
    values = [seconds * scale.factor for curve in chosen for _, seconds in curve.points if seconds > 0] or [1.0]
    since = " per token" if latency == "tpot_s" else " since due (closed loop: sent)"
    panel = Panel(
        x=Axis(low=0.0, high=right, ticks=ticks, title="share of requests that were at least as fast", grid=False),
        y=spanned(values, min(values) / 1.12, max(values) * 1.12),
        marks=tuple(marks),
        title=f"{scale.label}{since}",
    )
    shown = f" {len(chosen)} of {len(curves)} loads are drawn." if len(chosen) < len(curves) else ""
    return Chart(
        title=title,
        panels=(panel,),
        caption=f"Answered requests of the measured windows; a curve ends where fewer than ten lie beyond.{shown}",
        description=_words(view, latency),
        key=tuple(keys),
        quantity=f"latency, {scale.label}",
    )


def _chosen(view: View, curves: Sequence[PercentileCurve]) -> list[PercentileCurve]:
    """Up to MAX_CURVES curves: the largest load of each engine and scenario, then the smallest ones, then the others."""
    if len(curves) <= MAX_CURVES:
        return list(curves)
    groups: dict[str, list[str]] = {}
    for column in view.columns:
        groups.setdefault(column.group, []).append(column.key)
    order = [key for pick in (-1, 0) for keys in groups.values() for key in keys[pick:][:1]]
    order += [key for keys in groups.values() for key in keys[1:-1]]
    kept = [key for key in dict.fromkeys(order) if any(curve.configuration == key for curve in curves)][:MAX_CURVES]
    return [curve for curve in curves if curve.configuration in kept]


def _curve(view: View, scale: Scale, right: float, curve: PercentileCurve, role: Role) -> Iterator[Drawn]:
    """The curve, and those of its percentiles that have an interval."""
    label, series = view.label(curve.configuration), curve.configuration
    yield Line(points=tuple((place(p / 100), s * scale.factor) for p, s in curve.points), role=role, series=series)
    for percent in WITH_INTERVAL:
        value = view.estimate(f"{curve.latency.removesuffix('_s')}_p{percent}", curve.configuration)
        if value is not None and has_width(value) and place(percent / 100) <= right:
            yield point(f"{label}, p{percent}", place(percent / 100), value, scale, role=role, series=series)


def _words(view: View, latency: str) -> str:
    parts = []
    for percent in WITH_INTERVAL:
        row = view.metric(f"{latency.removesuffix('_s')}_p{percent}")
        if row is not None and row.known:
            cells = ((column.label, row.cells.get(column.key)) for column in view.columns)
            text = "; ".join(f"{label} {cell.full}" for label, cell in cells if cell is not None and cell.measured)
            parts.append(f"p{percent}: {text}")
    return f"{'. '.join(parts)}." if parts else "No percentile has an interval; the curves pool the requests of all launches."


def percentile_curves(measured: RecordData) -> Iterator[PercentileCurve]:
    """By configuration and latency, where enough requests were answered."""
    answered = measured.served.requests.join(measured.timed.select("launch"), on="launch", how="semi").filter("counted", "ok")
    for name in measured.configurations:
        requests = answered.filter(pl.col("configuration") == name)
        for latency in LATENCIES:
            values = requests[latency].drop_nulls()
            if len(values) >= BEYOND:
                shown = [p for p in PERCENTS if len(values) * (100 - p) >= 100 * BEYOND or p <= 50]
                points = tuple((p, float(values.quantile(p / 100.0, "lower") or 0.0)) for p in shown)
                yield PercentileCurve(configuration=name, latency=latency, points=points, requests=len(values))
