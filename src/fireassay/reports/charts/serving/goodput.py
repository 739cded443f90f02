"""How much of the offered load was good?

Goodput over the load, with the line at which every request is good.
"""

from __future__ import annotations

from typing import Final

from fireassay.metrics.serving.objectives import GOODPUT
from fireassay.reports.charts import vega
from fireassay.reports.charts.chart import Drawing, Key, Missing, absence, colour, in_words, top_of, vertical
from fireassay.reports.charts.serving.lines import (
    AXIS,
    PLOT,
    SMALL,
    engines_of,
    estimates_of,
    line_keys,
    lines,
    load_axis,
    over_loads,
    scenarios,
    side_by_side,
)
from fireassay.reports.view import MetricRow, View

NAME = "load-goodput"
TITLE: Final = "Goodput against load"


def draw(view: View) -> list[Drawing | Missing]:
    """One chart, with small multiples for several scenarios; empty without objectives."""
    row = view.metric(GOODPUT.name)
    if row is None:
        return []
    every = lines(view, lambda column: column.engine)
    values = estimates_of(row, every)
    if not values:
        return [Missing(title=TITLE, reason=absence(view, row, "Goodput"))]
    names = scenarios(view)
    charts = [_chart(view, row, name, small=len(names) > 1) for name in names]
    keys = line_keys(view, every, values)
    if view.load_word == "rate":
        keys.append(Key(mark="dash", role="muted", text="every request due was good"))
    over = f"Good requests per second over the {AXIS[view.load_word]}. " if len(names) > 1 else ""
    return [
        Drawing(
            title=TITLE,
            chart=side_by_side(charts) if len(names) > 1 else charts[0],
            key=tuple(keys),
            description=in_words(view, row),
            caption=f"{over}A request is good if it met every objective; one that failed met none.",
        )
    ]


def _chart(view: View, row: MetricRow, scenario: str, *, small: bool) -> vega.Chart:
    """Goodput of one scenario. Small multiples share the vertical axis; intervals are clipped at the offered load."""
    values = estimates_of(row, lines(view, lambda column: column.engine))
    loads = sorted({column.load or 0.0 for column in view.columns})
    offered = view.load_word == "rate"
    most = 1.08 * max(loads[-1], *(value.value for value in values)) if offered else float("inf")
    top = min(top_of(values, 1.0), most)
    beneath = []
    if offered:
        ideal = vega.chart([{"x": load, "value": load} for load in loads])
        beneath = [
            ideal.mark("line", strokeDash=[6, 3], strokeWidth=1.5, color=colour("muted")).encode(
                x=load_axis(view, width=SMALL[0] if small else PLOT, title=not small), y=vertical(0, top, clamp=True)("value")
            )
        ]
    title = scenario if small else ""
    return over_loads(view, row, engines_of(view, scenario), top=top, small=small, title=title, beneath=beneath)
