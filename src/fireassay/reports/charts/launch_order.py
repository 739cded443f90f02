"""Did the machine drift while the experiment ran?"""

from __future__ import annotations

import statistics

from fireassay.estimates.format import reading
from fireassay.reports.charts.chart import Drawing, Key, Missing, disturbed_key, linear, look, written_tick
from fireassay.reports.charts.marks import Axis, Mark, Panel, Point, Reading, Rule
from fireassay.reports.series.training import OrderPoint
from fireassay.reports.view import View

NAME = "launch-order"
TITLE = "Launches in the order they ran"
MOST_TICKS = 16


def draw(view: View) -> Drawing | Missing:
    """Every timed launch relative to its configuration's median; a slope means machine drift."""
    by_step = any(point.median_s is not None for point in view.series.order)
    points = _points(view, by_step)
    if not any(point.shape != "cross" for point in points):
        return Missing(title=TITLE, reason="No timed launch succeeded; the table of launches says why.")
    values = [end for point in points for end in (point.low or point.y, point.high or point.y, point.y)]
    room = max(0.15 * (max(values) - min(values)), 1.0)
    what = "median step time" if by_step else "wall time"
    marks: tuple[Mark, ...] = (Rule(y=100.0), *points)
    panel = Panel(
        x=_launches(view, len(points)),
        y=linear(min(values) - room, max(values) + room),
        marks=marks,
        title=f"{what}, % of its configuration’s median",
    )
    return Drawing(
        title=TITLE,
        panels=(panel,),
        caption="A slope is machine drift; blocks spread it evenly over all configurations."
        + (" Bars span the middle half of the launch’s steps." if by_step else ""),
        description=_words(view, by_step),
        key=_key(view, points),
        quantity=f"{what}, % of its configuration’s median",
    )


def _launches(view: View, last: int) -> Axis:
    """Launches by their number in the record, in the order of starting."""
    every = -(-last // MOST_TICKS)
    ticks = tuple((float(point.position), f"#{point.launch}") for point in view.series.order if (point.position - 1) % every == 0)
    return Axis(low=0.5, high=last + 0.5, ticks=ticks, title="launch, in order of starting", grid=False)


def _time(view: View, point: OrderPoint, by_step: bool) -> float | None:
    if by_step:
        return point.median_s
    wall = {row.number: row.wall_s for row in view.launches if row.status == "ok"}
    return wall.get(point.launch)


def _points(view: View, by_step: bool) -> list[Point]:
    """Positions and percentages; a launch without time is a cross at 100 %."""
    times = {point.launch: _time(view, point, by_step) for point in view.series.order}
    usual = {
        key: statistics.median(seconds)
        for key in {point.configuration for point in view.series.order}
        if (seconds := [t for p in view.series.order if p.configuration == key and (t := times[p.launch]) is not None])
    }
    places = {column.key: index for index, column in enumerate(view.columns)}
    rows = {row.number: row for row in view.launches}
    points = []
    for at in view.series.order:
        time, (shape, role) = times[at.launch], look(places.get(at.configuration, 0))
        name, target = f"launch #{at.launch}, {view.label(at.configuration)}", f"launch-{at.launch}"
        if time is None or at.status != "ok":
            told = Reading(name=name, text=at.status)
            points.append(Point(x=at.position, y=100.0, role="fail", shape="cross", target=target, reading=told))
            continue
        percent = 100.0 / usual[at.configuration]
        low, high = (None if end is None else end * percent for end in ((at.q25_s, at.q75_s) if by_step else (None, None)))
        more = "\n".join((reading(time, "s"), *rows[at.launch].disturbed.values()))
        told = Reading(name=name, text=f"{written_tick(time * percent)} %", value=time * percent, low=low, high=high, more=more)
        points.append(
            Point(
                x=at.position,
                y=time * percent,
                low=low,
                high=high,
                role=role,
                shape=shape,
                hollow=bool(rows[at.launch].disturbed),
                series=at.configuration,
                target=target,
                reading=told,
            )
        )
    return points


def _key(view: View, points: list[Point]) -> tuple[Key, ...]:
    keys = [Key(mark=look(i)[0], role=look(i)[1], text=column.label, series=column.key) for i, column in enumerate(view.columns)]
    if any(point.shape == "cross" for point in points):
        keys.append(Key(mark="cross", role="fail", text="failed: no time"))
    return (*keys, *disturbed_key(points))


def _words(view: View, by_step: bool) -> str:
    parts = [
        f"#{point.launch} ({view.label(point.configuration)}): {reading(_time(view, point, by_step), 's')}{_disturbed(view, point.launch)}"
        for point in view.series.order
    ]
    return "In order of starting: " + "; ".join(parts) + "."


def _disturbed(view: View, launch: int) -> str:
    words = next(row.disturbances for row in view.launches if row.number == launch)
    return f" ({words})" if words else ""
