"""What is the cost of being faster?"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import Scale
from fireassay.reports.charts import vega
from fireassay.reports.charts.chart import (
    FONT_SIZE,
    LOG_FROM,
    Drawing,
    Key,
    Missing,
    Rows,
    above,
    absence,
    colour,
    common_scale,
    estimates,
    in_words,
    interval_row,
    level,
    limits,
    log_ticks,
    number_axis,
    sized,
    top_of,
    upright,
)
from fireassay.reports.view import View

NAME = "cost-time"
TITLE = "Cost against time"
PLACES = ((15, -13), (-15, -13), (15, 14), (-15, 14), (0, -20), (0, 21))  # offsets of a number from its point, pixels
CLEARANCE = 14.0
PLOT = (330.0, 190.0)  # approximate plot size, pixels


def draw(view: View) -> Drawing | Missing:
    """Cost (USD) of a run over its wall time, one numbered point per worker count; the recommended one is highlighted."""
    costs, times = view.metric("cost"), view.metric("wall_time")
    dollars, seconds = estimates(view, costs), estimates(view, times)
    both = [column for column in view.columns if column.key in dollars and column.key in seconds]
    if costs is None or times is None or not both:
        return Missing(title=TITLE, reason=absence(view, costs if not dollars else times, "Cost" if not dollars else "Time"))
    money, clock = common_scale(costs), common_scale(times)
    x, (x_low, x_top), x_place = _channel(vega.x, seconds, clock, f"wall time of a run, {clock.label}")
    y, (y_low, y_top), y_place = _channel(vega.y, dollars, money, None)
    rows: Rows = []
    for column in both:
        across = interval_row(seconds[column.key], clock.factor, x_low, x_top)
        up = interval_row(dollars[column.key], money.factor, y_low, y_top)
        rows.append(
            {
                "label": str(column.workers),
                "picked": column.key == view.recommended,
                "hollow": across["hollow"] or up["hollow"],
                "x": across["value"],
                "left": across["low"],
                "right": across["high"],
                "y": up["value"],
                "low": up["low"],
                "high": up["high"],
            }
        )
    spots = placed([(PLOT[0] * x_place(row["x"]), PLOT[1] * (1.0 - y_place(row["y"]))) for row in rows])
    rows = [{**row, "place": index} for row, index in zip(rows, spots, strict=True)]
    return Drawing(
        title=TITLE,
        chart=sized(vega.layer(*_layers(rows, x, y)).properties(title=above(f"cost of a run, {money.label}"))),
        caption=_caption(view, rows),
        description=f"{in_words(view, costs)} {in_words(view, times)} Recommended: {_picked(view)}.",
        key=_key(view, rows),
    )


def _caption(view: View, rows: Rows) -> str:
    hollow = any(row["hollow"] for row in rows)
    bars = "one launch: no interval" if hollow else f"bars are {view.confidence} intervals"
    return f"The number at a point is its worker count; {bars}. Lower left is better."


def _key(view: View, rows: Rows) -> tuple[Key, ...]:
    keys = []
    if any(row["picked"] for row in rows):
        keys.append(Key(mark="point", role="third", text=f"recommended: {_picked(view)}"))
    if any(not row["picked"] for row in rows):
        keys.append(Key(mark="point", role="main", text="other configurations" if keys else "configurations; none is recommended"))
    return tuple(keys)


def _picked(view: View) -> str:
    return "none" if view.recommended is None else view.label(view.recommended)


def _channel(
    channel: Callable[..., vega.Spec], values: dict[str, Estimate], scale: Scale, title: str | None
) -> tuple[vega.Channel, tuple[float, float], Callable[[float], float]]:
    """Field -> encoding, axis limits, and value -> position (0..1); from zero unless values span more than a decade."""
    shown = [value.value * scale.factor for value in values.values()]
    top = top_of(values.values(), scale.factor, 1.12)
    if min(shown) > 0 and max(shown) / min(shown) > LOG_FROM:
        low, top = min(shown) / 1.5, top * 1.1
        drawn = vega.scale(type="log", domain=[low, top], nice=False)
        return (
            lambda field: channel(f"{field}:Q", scale=drawn, axis=number_axis(title=title, values=log_ticks(low, top))),
            (low, top),
            lambda value: math.log(value / low) / math.log(top / low),
        )
    plain = limits(0, top)
    return (lambda field: channel(f"{field}:Q", scale=plain, axis=number_axis(title=title)), (0.0, top), lambda value: value / top)


def _layers(rows: Rows, x: vega.Channel, y: vega.Channel) -> list[vega.Chart]:
    """A faint path in order of worker counts, then intervals, points and numbers of each group."""
    path = vega.chart(rows).mark("line", strokeWidth=1.5, opacity=0.35, color=colour("muted"), order=False)
    layers = [path.encode(x=x("x"), y=y("y"))]
    for role, picked, size in (("main", False, 48), ("third", True, 120)):
        base = vega.chart([row for row in rows if row["picked"] == picked])
        across = base.transform_calculate(low="datum.left", high="datum.right")
        point = base.mark("point", filled=True, size=size, opacity=1, color=colour(role), stroke=colour("paper"), strokeWidth=1)
        layers += [*level(across, x, y("y"), role, 11), *upright(base, x("x"), y, role, 11)]
        layers.append(point.encode(x=x("x"), y=y("y")))
    for index in dict.fromkeys(row["place"] for row in rows):
        across_px, up_px = PLACES[index]
        text = vega.chart([row for row in rows if row["place"] == index]).mark(
            "text", fontSize=FONT_SIZE, fontWeight="bold", color=colour("ink"), dx=across_px, dy=up_px
        )
        layers.append(text.encode(x=x("x"), y=y("y"), text="label:N"))
    return layers


def placed(positions: Sequence[tuple[float, float]]) -> list[int]:
    """For each point (pixels), the index of the first of PLACES whose number covers no point and no earlier number."""
    taken: list[tuple[float, float]] = list(positions)
    chosen = []
    for x, y in positions:
        spots = [(x + across, y + up) for across, up in PLACES]
        free = (i for i, spot in enumerate(spots) if all(math.dist(spot, other) > CLEARANCE for other in taken))
        index = next(free, 0)
        taken.append(spots[index])
        chosen.append(index)
    return chosen
