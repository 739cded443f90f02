"""Was quality held within the margin set before the experiment?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import given
from fireassay.reports.charts.chart import (
    Drawing,
    Key,
    Missing,
    absence,
    block_dots,
    common_scale,
    dot_key,
    estimates,
    in_words,
    interval_key,
    level_point,
    linear,
    rows_axis,
)
from fireassay.reports.charts.marks import Area, Dot, Mark, Panel, Rule
from fireassay.reports.view import MetricRow, View

NAME = "quality"
TITLE = "Quality and its margin"


def draw(view: View) -> Drawing | Missing:
    """Difference from the base with its interval, and the margin: quality is lost to its left."""
    row = view.metric("quality_difference")
    differences = estimates(view, row)
    if row is None or not differences:
        return Missing(title=TITLE, reason=absence(view, row, "The difference of quality to the base"))
    margin = view.quality_margin or 0.0
    panel = _panel(view, row, differences, margin)
    keys = [*interval_key(differences.values(), view, "difference"), *dot_key([m for m in panel.marks if isinstance(m, Dot)], "one launch")]
    keys.append(Key(mark="band", role="fail", text=f"worse than the margin of −{given(margin)} allows"))
    return Drawing(
        title=TITLE,
        panels=(panel,),
        caption="Right is better. Held where the whole interval lies right of the margin.",
        description=f"{in_words(view, row)} The margin is {given(margin)}.",
        key=tuple(keys),
        quantity=f"difference of {view.quality_metric or 'quality'}",
    )


def _panel(view: View, row: MetricRow, differences: Mapping[str, Estimate], margin: float) -> Panel:
    """Intervals, launches and the margin on a common axis."""
    ends = [e for v in differences.values() for e in (v.value, v.low, v.high, *v.launch_values) if abs(e) != float("inf")]
    room = max(max(abs(e) for e in (*ends, margin)) * 0.12, 1e-9)
    low, high = min(-margin * 1.5, *ends) - room, max(margin * 0.5, 0.0, *ends) + room
    scale = common_scale(row)
    marks: list[Mark] = [
        Area(right=-margin * scale.factor, role="fail"),
        Rule(x=-margin * scale.factor, role="fail", dashed=True),
        Rule(x=0.0),
    ]
    for index, (key, value) in enumerate(differences.items()):
        dots = block_dots(view, key, value, scale.factor)
        marks += [replace(dot, x=dot.y, y=index, role="blue", drop=9 + 5 * (i % 2)) for i, dot in enumerate(dots)]
        marks.append(level_point(view.label(key), index, value, scale))
    title = f"difference of {view.quality_metric or 'quality'} to {view.label(view.base)}"
    names = rows_axis((view.label(key) for key in differences), 52)
    return Panel(x=linear(low * scale.factor, high * scale.factor, title), y=names, marks=tuple(marks))
