"""What does it cost to be faster?"""

from __future__ import annotations

from typing import Any

import altair as alt

from assay.metrics.estimate import Estimate
from assay.metrics.format import Scale
from assay.reports.pictures.base import (
    LOG_FROM,
    Drawing,
    Key,
    Missing,
    Rows,
    above,
    absence,
    colour,
    common_scale,
    data,
    estimates,
    in_words,
    interval_row,
    number_axis,
    sized,
    top_of,
)  # fmt: skip
from assay.reports.view import View

TITLE = "Cost against time"


def draw(view: View) -> Drawing | Missing:
    """Dollars of a run over its wall time, one numbered point per worker count; the recommended one stands out."""
    costs, times = view.metric("cost"), view.metric("wall_time")
    dollars, seconds = estimates(view, costs), estimates(view, times)
    both = [column for column in view.columns if column.key in dollars and column.key in seconds]
    if costs is None or times is None or not both:
        return Missing(
            title=TITLE, reason=absence(view, costs if not dollars else times, "Cost" if not dollars else "Time")
        )
    money, clock = common_scale(costs), common_scale(times)
    x, x_top = _channel(alt.X, alt.Axis, seconds, clock, f"wall time of a run, {clock.label}")
    y, y_top = _channel(alt.Y, alt.Axis, dollars, money, None)
    rows: Rows = []
    for column in both:
        across = interval_row(seconds[column.key], clock.factor, 0.0, x_top)
        up = interval_row(dollars[column.key], money.factor, 0.0, y_top)
        rows.append({
            "label": str(column.workers), "picked": column.key == view.recommended,
            "x": across["value"], "left": across["low"], "right": across["high"],
            "y": up["value"], "low": up["low"], "high": up["high"],
        })  # fmt: skip
    return Drawing(
        title=TITLE, chart=sized(alt.layer(*_layers(rows, x, y)).properties(title=above(f"cost of a run, {money.label}"))),
        caption=f"The number in a point is its worker count; bars are {view.confidence} intervals. Lower left is better.",
        description=f"{in_words(view, costs)} {in_words(view, times)} Recommended: {_picked(view)}.",
        key=_key(view, rows),
    )  # fmt: skip


def _key(view: View, rows: Rows) -> tuple[Key, ...]:
    keys = []
    if any(row["picked"] for row in rows):
        keys.append(Key(mark="point", role="third", text=f"recommended: {_picked(view)}"))
    if any(not row["picked"] for row in rows):
        keys.append(
            Key(
                mark="ring", role="main", text="other configurations" if keys else "configurations; none is recommended"
            )
        )
    return tuple(keys)


def _picked(view: View) -> str:
    return "none" if view.recommended is None else view.label(view.recommended)


def _channel(
    channel: Any, axis: Any, values: dict[str, Estimate], scale: Scale, title: str | None
) -> tuple[Any, float]:
    """A function from a field to its encoding, from zero unless the values span more than a decade."""
    shown = [value.value * scale.factor for value in values.values()]
    top = top_of(values.values(), scale.factor, 1.12)
    wide = min(shown) > 0 and max(shown) / min(shown) > LOG_FROM
    drawn = (
        alt.Scale(type="log", domain=[min(shown) / 1.5, top * 1.2], nice=False)
        if wide
        else alt.Scale(domain=[0, top], nice=False)
    )

    def encode(field: str) -> Any:
        return channel(f"{field}:Q", scale=drawn, axis=number_axis(title=title))

    return encode, top


def _layers(rows: Rows, x: Any, y: Any) -> list[Any]:
    base = alt.Chart(data(rows))
    role = alt.condition("datum.picked", alt.value(colour("third")), alt.value(colour("main")))
    fill = alt.condition("datum.picked", alt.value(colour("third")), alt.value(colour("paper")))
    ink = alt.condition("datum.picked", alt.value(colour("paper")), alt.value(colour("main")))
    path = base.mark_line(strokeWidth=1.5, opacity=0.35, color=colour("muted"), order=False).encode(x=x("x"), y=y("y"))
    across = base.mark_rule(strokeWidth=2.5).encode(x=x("left"), x2="right:Q", y=y("y"), color=role)
    up = base.mark_rule(strokeWidth=2.5).encode(x=x("x"), y=y("low"), y2="high:Q", color=role)
    point = base.mark_point(filled=True, size=520, opacity=1, strokeWidth=2.5)
    text = base.mark_text(fontSize=13, fontWeight="bold", baseline="middle", dy=1)
    return [
        path, across, up, point.encode(x=x("x"), y=y("y"), fill=fill, stroke=role),
        text.encode(x=x("x"), y=y("y"), text="label:N", color=ink),
    ]  # fmt: skip
