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
    interval_rows,
    launch_dots,
    points,
    sized,
    top_of,
    vertical,
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
    axis = worker_axis(view)
    top = max(top_of(efficiencies.values(), PERCENT, 1.04), 108.0)
    x, y = axis.channel(), vertical(0, top)
    rows = interval_rows(view, efficiencies, PERCENT, 0.0, top)
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
        caption=f"The share of the added workers that turned into speedup.{'' if gate is not None else ' No gate was requested.'}",
        description=in_words(view, row),
        key=tuple(keys),
    )
