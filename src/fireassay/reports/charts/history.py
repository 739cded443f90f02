"""How did a metric develop from record to record?

One point with its interval per record, by creation time; a line at each level between changes, and a vertical line before the first
record of a new level. A suspected change is dashed; an outlier is a hollow point.
"""

from __future__ import annotations

from fireassay.estimates.format import Scale, count, scale_for, show
from fireassay.reports.charts import vega
from fireassay.reports.charts.chart import Drawing, Key, Missing, Rows, above, colour, limits, sized, vertical
from fireassay.verdict.checking.history import History


def draw(history: History, work: str = "items") -> Drawing | Missing:
    """The chart of one series."""
    title = f"{history.title} at {history.configuration}"
    if not history.points:
        return Missing(title=title, reason="No record holds a value.")
    scale = scale_for(history.unit, [point.value.value for point in history.points], work)
    rows = _rows(history, scale)
    ends = [end for row in rows for end in (row["low"], row["high"])]
    room = 0.08 * (max(ends) - min(ends)) or abs(max(ends)) * 0.05 or 1.0
    low, high = min(ends) - room, max(ends) + room
    chart = vega.layer(*_layers(history, rows, scale, low, high))
    axis = f"{history.title}, {scale.label}" if scale.label else history.title
    return Drawing(
        title=title,
        chart=sized(chart.properties(title=above(axis))),
        key=_key(history),
        caption=f"{count(len(history.points), 'records')} in the order of their creation, each with its interval.",
        description=_words(history, scale, work),
    )


def _rows(history: History, scale: Scale) -> Rows:
    """Rows at positions from 1; an unbounded end is drawn at the value."""
    rows: Rows = []
    for position, point in enumerate(history.points, start=1):
        value, ends = point.value.value * scale.factor, []
        for end in (point.value.low, point.value.high):
            ends.append(end * scale.factor if abs(end) != float("inf") else value)
        off = position - 1 in history.outliers
        rows.append({"x": position, "value": value, "low": ends[0], "high": ends[1], "off": off})
    return rows


def _layers(history: History, rows: Rows, scale: Scale, low: float, high: float) -> list[vega.Chart]:
    n = len(rows)
    axis = vega.axis(title="record, in order of creation", tickMinStep=1, tickCount=min(n, 8), format="d", grid=False)
    x = vega.x("x:Q", scale=limits(0.5, n + 0.5), axis=axis)
    y = vertical(low, high, zero=False)
    base, held = vega.chart(rows), vega.chart([row for row in rows if not row["off"]])
    levels = [{"x": a + 0.5, "end": b + 0.5, "y": mean * scale.factor} for a, b, mean in history.levels]
    line = vega.chart(levels).mark("rule", strokeWidth=2, color=colour("second"))
    layers = [
        line.encode(x=x, x2="end:Q", y=y("y")),
        base.mark("rule", strokeWidth=1.5, opacity=0.7, color=colour("main")).encode(x=x, y=y("low"), y2="high:Q"),
        held.mark("point", filled=True, size=60, opacity=1, color=colour("main")).encode(x=x, y=y("value")),
    ]
    if history.outliers:
        off = vega.chart([row for row in rows if row["off"]])
        layers.append(off.mark("point", size=60, strokeWidth=1.5, color=colour("main")).encode(x=x, y=y("value")))
    for kind, dash in (("change", [1, 0]), ("suspected", [5, 4])):
        marks = [{"x": c.index + 0.5} for c in history.changes if c.kind == kind]
        if marks:
            rule = vega.chart(marks).mark("rule", strokeWidth=1.5, strokeDash=dash, color=colour("bad"))
            layers.append(rule.encode(x=x))
    return layers


def _key(history: History) -> tuple[Key, ...]:
    keys = [Key(mark="point", role="main", text="record, with its interval"), Key(mark="line", role="second", text="level")]
    kinds = {change.kind for change in history.changes}
    if "change" in kinds:
        keys.append(Key(mark="line", role="bad", text="change"))
    if "suspected" in kinds:
        keys.append(Key(mark="dash", role="bad", text="suspected: not certain yet"))
    if history.outliers:
        keys.append(Key(mark="hollow", role="main", text="outlier, not part of a level"))
    return tuple(keys)


def _words(history: History, scale: Scale, work: str) -> str:
    parts = [f"{point.label}: {show(point.value, scale, work).text}" for point in history.points]
    events = [f"{change.kind} before record {change.index + 1}" for change in history.changes]
    events += [f"outlier at record {at + 1}" for at in history.outliers]
    return f"In order: {'; '.join(parts)}. Changes: {', '.join(events) or 'none'}."
