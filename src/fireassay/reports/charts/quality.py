"""Was quality held within the margin set before the experiment?"""

from __future__ import annotations

from collections.abc import Mapping

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import given
from fireassay.reports.charts import vega
from fireassay.reports.charts.chart import (
    Drawing,
    Key,
    Missing,
    Rows,
    above,
    absence,
    colour,
    dot_key,
    estimates,
    horizontal,
    in_words,
    interval_key,
    interval_row,
    level,
    markers,
    sized,
)
from fireassay.reports.view import View

NAME = "quality"
TITLE = "Quality and its margin"


def draw(view: View) -> Drawing | Missing:
    """Difference from the base with its interval, and the margin: quality is lost to its left."""
    row = view.metric("quality_difference")
    differences = estimates(view, row)
    if row is None or not differences:
        return Missing(title=TITLE, reason=absence(view, row, "The difference of quality to the base"))
    margin = view.quality_margin or 0.0
    keys = [*interval_key(differences.values(), view, "difference"), *dot_key(differences.values(), "one launch")]
    keys.append(Key(mark="dash", role="bad", text=f"margin: −{given(margin)}; shaded: worse than allowed"))
    return Drawing(
        title=TITLE,
        chart=sized(_chart(view, differences, margin).properties(title=above("right is better")), 110 + 52 * len(differences)),
        caption="Held where the whole interval lies right of the margin.",
        description=f"{in_words(view, row)} The margin is {given(margin)}.",
        key=tuple(keys),
    )


def _chart(view: View, differences: Mapping[str, Estimate], margin: float) -> vega.Chart:
    """Intervals, launches and the margin on a common axis."""
    ends = [e for v in differences.values() for e in (v.value, v.low, v.high, *v.launch_values) if abs(e) != float("inf")]
    room = max(max(abs(e) for e in (*ends, margin)) * 0.12, 1e-9)
    low, high = min(-margin * 1.5, *ends) - room, max(margin * 0.5, 0.0, *ends) + room
    labels = [column.label for column in view.columns if column.key in differences]
    rows: Rows = [{"label": view.label(k), **interval_row(v, 1.0, low, high)} for k, v in differences.items()]
    launches: Rows = [
        {"label": view.label(k), "x": launch, "place": 9 + 7 * (i % 2)}
        for k, v in differences.items()
        for i, launch in enumerate(v.launch_values if len(v.launch_values) > 1 else ())
    ]
    x = horizontal(low, high, f"difference of {view.quality_metric or 'quality'} to {view.label(view.base)}")
    y = vega.y(
        "label:N", sort=labels, axis=vega.axis(title=None, labelLimit=120, grid=False), scale=vega.scale(paddingInner=0.3, paddingOuter=0.4)
    )
    lost = vega.chart([{"from": low, "to": -margin}]).mark("rect", opacity=0.14, color=colour("bad"))
    limit = vega.chart([{"at": -margin}]).mark("rule", strokeDash=[8, 4], strokeWidth=2, color=colour("bad"))
    zero = vega.chart([{"at": 0}]).mark("rule", strokeWidth=1, color=colour("muted"))
    base = vega.chart(rows)
    small = vega.chart(launches).mark("circle", size=22, opacity=0.55, color=colour("main"), yOffset=15)
    return vega.layer(
        lost.encode(x=x("from"), x2="to:Q"),
        limit.encode(x=x("at")),
        zero.encode(x=x("at")),
        small.encode(x=x("x"), y=y),
        *level(base, x, y),
        *markers(base, x("value"), y),
    )
