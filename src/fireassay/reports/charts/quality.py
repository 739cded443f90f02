"""Was quality held within the margin set before the experiment?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import given
from fireassay.reports.charts.axes import linear, rows_axis
from fireassay.reports.charts.model import Area, Chart, Dot, Drawn, Key, Panel, Rule, named
from fireassay.reports.charts.of_view import absence, block_dots, common_scale, estimates, in_words, interval_key
from fireassay.reports.charts.points import dot_key, level_point
from fireassay.reports.view import MetricRow, View


@named("quality")
def quality(view: View) -> Chart:
    """Difference from the base with its interval, and the margin: quality is lost to its left."""
    title, row, margin = "Quality and its margin", view.metric("quality_difference"), view.quality_margin or 0.0
    differences = estimates(view, row)
    if row is None or not differences:
        return Chart(title=title, missing=absence(row, "The difference of quality to the base"))
    panel = _panel(view, row, differences, margin)
    dots = [mark for mark in panel.marks if isinstance(mark, Dot)]
    return Chart(
        title=title,
        panels=(panel,),
        caption="Right is better. Held where the whole interval lies right of the margin.",
        description=f"{in_words(view, row)} The margin is {given(margin)}.",
        key=(
            *interval_key(differences.values(), view, "difference"),
            *dot_key(dots, "one launch"),
            Key(mark="band", role="fail", text=f"worse than the margin of −{given(margin)} allows"),
        ),
        quantity=f"difference of {view.quality_metric or 'quality'}",
    )


def _panel(view: View, row: MetricRow, differences: Mapping[str, Estimate], margin: float) -> Panel:
    """Intervals, launches and the margin on a common axis."""
    ends = [e for v in differences.values() for e in (v.value, v.low, v.high, *v.launch_values) if abs(e) != float("inf")]
    room = max(max(abs(e) for e in (*ends, margin)) * 0.12, 1e-9)
    low, high = min(-margin * 1.5, *ends) - room, max(margin * 0.5, 0.0, *ends) + room
    scale = common_scale(row)
    edge = -margin * scale.factor
    marks: list[Drawn] = [Area(right=edge, role="fail"), Rule(x=edge, role="fail", dashed=True), Rule(x=0.0)]
    for index, (key, value) in enumerate(differences.items()):
        dots = block_dots(view, key, value, scale.factor)
        marks += [replace(dot, x=dot.y, y=index, role="blue", drop=9 + 5 * (i % 2)) for i, dot in enumerate(dots)]
        marks.append(level_point(view.label(key), index, value, scale))
    title = f"difference of {view.quality_metric or 'quality'} to {view.label(view.base)}"
    rows = rows_axis((view.label(key) for key in differences), 52)
    return Panel(x=linear(low * scale.factor, high * scale.factor, title), y=rows, marks=tuple(marks))
