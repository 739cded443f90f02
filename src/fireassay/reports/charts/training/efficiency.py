"""Up to how many workers is parallel efficiency above the gate?"""

from __future__ import annotations

from fireassay.estimates.format import given
from fireassay.reports.charts import vega
from fireassay.reports.charts.chart import (
    Drawing,
    Key,
    Missing,
    above,
    absence,
    colour,
    dot_key,
    dots,
    estimates,
    in_words,
    interval_key,
    interval_row,
    launch_dots,
    number_axis,
    points,
    sized,
    top_of,
    worker_axis,
)
from fireassay.reports.view import View

NAME = "efficiency"
TITLE = "Efficiency and its gate"
PERCENT = 100.0


def draw(view: View) -> Drawing | Missing:
    """Parallel efficiency with intervals, launch dots and the requested gate."""
    row = view.metric("efficiency")
    efficiencies = estimates(view, row)
    if row is None or not efficiencies:
        return Missing(title=TITLE, reason=absence(view, row, "Efficiency"))
    axis, workers = worker_axis(view), {column.key: column.workers for column in view.columns}
    top = max(top_of(efficiencies.values(), PERCENT, 1.04), 108.0)

    def y(field: str) -> vega.Spec:
        return vega.y(f"{field}:Q", scale=vega.scale(domain=[0, top], nice=False), axis=number_axis(title=None))

    x = axis.channel()
    rows = [{"x": workers[key], **interval_row(value, PERCENT, 0.0, top)} for key, value in efficiencies.items()]
    joined = vega.chart(rows).mark("line", strokeWidth=1.5, opacity=0.45, color=colour("main"))
    layers = [joined.encode(x=x, y=y("value"))]
    keys = [*interval_key(efficiencies.values(), view, "efficiency"), *dot_key(efficiencies.values(), "one block")]
    gate = view.efficiency_gate
    if gate is not None:
        rule = vega.chart([{"gate": gate * PERCENT}]).mark("rule", strokeDash=[8, 4], strokeWidth=2, color=colour("bad"))
        layers.append(rule.encode(y=y("gate")))
        keys.append(Key(mark="dash", role="bad", text=f"gate: {given(gate * PERCENT)} %"))
    layers += [dots(launch_dots(efficiencies, view, axis, PERCENT, top=top), x, y), *points(rows, x, y)]
    return Drawing(
        title=TITLE,
        chart=sized(vega.layer(*layers).properties(title=above("efficiency, %"))),
        caption="The share of the added workers that became speed."
        if gate is not None
        else "The share of the added workers that became speed. No gate was asked for.",
        description=in_words(view, row),
        key=tuple(keys),
    )
