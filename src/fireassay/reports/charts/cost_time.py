"""What is the cost of being faster?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import Scale, show
from fireassay.reports.charts.chart import (
    Drawing,
    Key,
    Missing,
    absence,
    common_scale,
    estimates,
    has_interval,
    in_words,
    reading,
    spanned,
    top_of,
)
from fireassay.reports.charts.marks import Axis, Line, Panel, Point
from fireassay.reports.view import Column, View

NAME = "cost-time"
TITLE = "Cost against time"


def draw(view: View) -> Drawing | Missing:
    """Cost (USD) of a run over its wall time, one labelled point per worker count; the recommended one is highlighted."""
    costs, times = view.metric("cost"), view.metric("wall_time")
    dollars, seconds = estimates(view, costs), estimates(view, times)
    both = [column for column in view.columns if column.key in dollars and column.key in seconds]
    if costs is None or times is None or not both:
        return Missing(title=TITLE, reason=absence(view, costs if not dollars else times, "Cost" if not dollars else "Time"))
    money, clock = common_scale(costs), common_scale(times)
    points = [_point(column, seconds[column.key], dollars[column.key], clock, money, column.key == view.recommended) for column in both]
    path = Line(points=tuple((point.x, point.y) for point in points), role="soft", thin=True, faint=True)
    panel = Panel(
        x=_axis(seconds, clock, f"wall time of a run, {clock.label}"),
        y=_axis(dollars, money),
        marks=(path, *points),
        title=f"cost of a run, {money.label}",
    )
    return Drawing(
        title=TITLE,
        panels=(panel,),
        caption=_caption(view, points),
        description=f"{in_words(view, costs)} {in_words(view, times)} Recommended: {_picked(view)}.",
        key=_key(view, points),
        quantity=f"cost of a run, {money.label}",
    )


def _point(column: Column, time: Estimate, cost: Estimate, clock: Scale, money: Scale, picked: bool) -> Point:
    across, up = (_ends(time, clock.factor), _ends(cost, money.factor))
    told = reading(column.label, show(cost, money), more=f"in {show(time, clock).full}")
    return Point(
        x=time.value * clock.factor,
        y=cost.value * money.factor,
        left=across[0],
        right=across[1],
        low=up[0],
        high=up[1],
        role="gold" if picked else "blue",
        hollow=not (has_interval(time) and has_interval(cost)),
        label=str(column.workers),
        target=f"level-{column.workers}",
        reading=told,
    )


def _ends(value: Estimate, factor: float) -> tuple[float | None, float | None]:
    return (value.low * factor, value.high * factor) if has_interval(value) else (None, None)


def _axis(values: Mapping[str, Estimate], scale: Scale, title: str = "") -> Axis:
    """From zero unless values span more than a decade."""
    return spanned(
        [value.value * scale.factor for value in values.values()], 0.0, top_of(values.values(), scale.factor, 1.12), title, grid=not title
    )


def _caption(view: View, points: Sequence[Point]) -> str:
    bars = "one launch: no interval" if any(point.hollow for point in points) else f"bars are {view.confidence} intervals"
    return f"The number at a point is its worker count; {bars}. Lower left is better."


def _key(view: View, points: Sequence[Point]) -> tuple[Key, ...]:
    keys = []
    if any(point.role == "gold" for point in points):
        keys.append(Key(mark="point", role="gold", text=f"recommended: {_picked(view)}"))
    if any(point.role == "blue" for point in points):
        keys.append(Key(mark="point", role="blue", text="other configurations" if keys else "configurations; none is recommended"))
    return tuple(keys)


def _picked(view: View) -> str:
    return "none" if view.recommended is None else view.label(view.recommended)
