"""Did the machine drift while the experiment ran?"""

from __future__ import annotations

import statistics

from fireassay.estimates.format import reading
from fireassay.reports.charts import vega
from fireassay.reports.charts.chart import BY_ROLE, Drawing, Key, Missing, Rows, above, colour, limits, look, sized, vertical
from fireassay.reports.series.training import OrderPoint
from fireassay.reports.view import View

NAME = "launch-order"
TITLE = "Launches in the order they ran"


def draw(view: View) -> Drawing | Missing:
    """Every timed launch relative to its configuration's median; a slope means machine drift."""
    by_step = any(point.median_s is not None for point in view.series.order)
    rows = _rows(view, by_step)
    if not any(row["kind"] == "ok" for row in rows):
        return Missing(title=TITLE, reason="No timed launch succeeded; the table of launches says why.")
    values = [end for row in rows for end in (row["low"], row["high"], row["value"])]
    room = max(0.15 * (max(values) - min(values)), 1.0)
    low, high = min(values) - room, max(values) + room
    what = "median step time" if by_step else "wall time"
    chart = vega.layer(*_layers(rows, low, high))
    return Drawing(
        title=TITLE,
        chart=sized(chart.properties(title=above(f"{what}, % of its configuration’s median"))),
        caption="A slope is machine drift; blocks spread it evenly over all configurations."
        + (" Bars span the middle half of the launch’s steps." if by_step else ""),
        description=_words(view, by_step),
        key=_key(view, rows),
    )


def _time(view: View, point: OrderPoint, by_step: bool) -> float | None:
    if by_step:
        return point.median_s
    wall = {row.number: row.wall_s for row in view.launches if row.status == "ok"}
    return wall.get(point.launch)


def _rows(view: View, by_step: bool) -> Rows:
    """Positions and percentages; a launch without time is a cross at 100 %."""
    times = {point.launch: _time(view, point, by_step) for point in view.series.order}
    usual = {
        key: statistics.median(seconds)
        for key in {point.configuration for point in view.series.order}
        if (seconds := [t for p in view.series.order if p.configuration == key and (t := times[p.launch]) is not None])
    }
    places = {column.key: index for index, column in enumerate(view.columns)}
    rows: Rows = []
    for point in view.series.order:
        time, index = times[point.launch], places.get(point.configuration, 0)
        shape, role = look(index)
        drawn = {"role": colour(role), "shape": shape}
        if time is None or point.status != "ok":
            rows.append({"x": point.position, "value": 100.0, "low": 100.0, "high": 100.0, "kind": "bad", **drawn})
            continue
        percent = 100.0 / usual[point.configuration]
        ends = (point.q25_s, point.q75_s) if by_step else (time, time)
        low, high = (time if end is None else end for end in ends)
        rows.append({"x": point.position, "value": time * percent, "low": low * percent, "high": high * percent, "kind": "ok", **drawn})
    return rows


def _layers(rows: Rows, low: float, high: float) -> list[vega.Chart]:
    last = max(row["x"] for row in rows)
    x_axis = vega.axis(title="launch, in order of starting", tickMinStep=1, tickCount=min(last, 8), format="d", grid=False)
    x = vega.x("x:Q", scale=limits(0.5, last + 0.5), axis=x_axis)
    y = vertical(low, high, zero=False)
    base = vega.chart(rows)
    fine, bad = base.transform_filter("datum.kind === 'ok'"), base.transform_filter("datum.kind === 'bad'")
    usual = vega.chart([{"at": 100}]).mark("rule", strokeWidth=1, color=colour("muted"))
    bars = fine.mark("rule", strokeWidth=1.5, opacity=0.7).encode(x=x, y=y("low"), y2="high:Q", color=BY_ROLE)
    point = fine.mark("point", filled=True, size=75, opacity=1)
    cross = bad.mark("point", shape="cross", angle=45, filled=True, size=110, opacity=1, color=colour("bad"))
    return [
        usual.encode(y=y("at")),
        bars,
        point.encode(x=x, y=y("value"), color=BY_ROLE, shape=vega.shape("shape:N", scale=None, legend=None)),
        cross.encode(x=x, y=y("value")),
    ]


def _key(view: View, rows: Rows) -> tuple[Key, ...]:
    keys = [Key(mark=look(index)[0], role=look(index)[1], text=column.label) for index, column in enumerate(view.columns)]
    if any(row["kind"] == "bad" for row in rows):
        keys.append(Key(mark="cross45", role="bad", text="failed: no time"))
    return tuple(keys)


def _words(view: View, by_step: bool) -> str:
    parts = [
        f"{point.position} ({view.label(point.configuration)}): {reading(_time(view, point, by_step), 's')}" for point in view.series.order
    ]
    return "In order of starting: " + "; ".join(parts) + "."
