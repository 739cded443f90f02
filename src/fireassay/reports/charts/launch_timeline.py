"""Did each launch reach a steady state, and after how many steps?"""

from __future__ import annotations

import math

from fireassay.estimates.format import Scale, count, scale_for
from fireassay.reports.charts import vega
from fireassay.reports.charts.chart import WIDTH, Drawing, Key, Missing, Rows, colour
from fireassay.reports.series.training import Timeline
from fireassay.reports.view import View

NAME = "launch-timeline"
TITLE = "Step times over each launch"
MOST_PANELS = 15
ACROSS = 3
BESIDE_PANEL = 40  # pixels for a panel's labels and the gap
PANEL_HEIGHT = 60
ROOM = 1.25  # factor by which the panel exceeds the slowest steady steps


def draw(view: View) -> Drawing | Missing:
    """Small multiples, one panel per timed launch, with the warm-up shaded."""
    timed = [timeline for timeline in view.series.timelines if timeline.role == "timed"]
    if not timed:
        return Missing(title=TITLE, reason="No step was recorded. Mark the steps with `for batch in probe.steps(loader)`.")
    chosen = chosen_panels(timed, [column.key for column in view.columns])
    tops = {key: _top([t for t in timed if t.configuration == key]) for key in {t.configuration for t in chosen}}
    scale = scale_for("s", tops.values())
    across = len(view.columns) if len(view.columns) in (2, 3) else min(ACROSS, len(chosen))
    width = WIDTH // across - BESIDE_PANEL
    panels = [_panel(view, timeline, scale, tops[timeline.configuration] * scale.factor, width) for timeline in chosen]
    chart = vega.concat(*panels, columns=across, spacing={"row": 14, "column": 12})
    more = f" {len(chosen)} of {count(len(timed), 'launches')} are shown." if len(chosen) < len(timed) else ""
    return Drawing(
        title=TITLE,
        chart=chart,
        description=_words(view, timed),
        caption=f"Step time in {scale.label} over the step’s number; panels of one worker count share a scale, and steps above it are cut off.{more}",
        key=(
            Key(mark="line", role="main", text="median step, with smallest and largest where steps are drawn together"),
            Key(mark="band", role="band", text="warm-up, excluded from every number"),
        ),
    )


def chosen_panels(timed: list[Timeline], configurations: list[str]) -> list[Timeline]:
    """At most MOST_PANELS launches: the first blocks of every configuration, aligned by block."""
    order = {key: index for index, key in enumerate(configurations)}
    by_block = sorted(timed, key=lambda t: (t.block, order.get(t.configuration, len(order)), t.launch))
    return by_block[:MOST_PANELS]


def _top(timelines: list[Timeline]) -> float:
    """Top of the panels: the 98th percentile of bin maxima of steady steps, with room."""
    steady = sorted(b.high_s for t in timelines for b in t.bins if b.first >= t.bins[0].first + t.warmup)
    if not steady:
        return max(b.high_s for t in timelines for b in t.bins)
    return ROOM * steady[min(len(steady) - 1, math.floor(0.98 * len(steady)))]


def _panel(view: View, timeline: Timeline, scale: Scale, top: float, width: int) -> vega.Chart:
    rows: Rows = [
        {
            "x": (b.first + b.last) / 2,
            "y": min(b.median_s * scale.factor, top),
            "low": min(b.low_s * scale.factor, top),
            "high": min(b.high_s * scale.factor, top),
        }
        for b in timeline.bins
    ]
    first, last = timeline.bins[0].first, timeline.bins[-1].last
    x_scale = vega.scale(domain=[first, max(last, first + 1)], nice=False)
    middle = _round_tick(top)
    y_axis = vega.axis(title=None, values=[0, middle], labelFontSize=13)
    x_axis = vega.axis(title=None, values=[first, last], labelFontSize=13, format="d", grid=False, labelFlush=True)

    def x(field: str) -> vega.Spec:
        return vega.x(f"{field}:Q", scale=x_scale, axis=x_axis)

    def y(field: str) -> vega.Spec:
        return vega.y(f"{field}:Q", scale=vega.scale(domain=[0, top], nice=False), axis=y_axis)

    warm = vega.chart([{"from": first, "to": first + timeline.warmup}]).mark("rect", color=colour("band"), opacity=0.35)
    base = vega.chart(rows)
    spread = base.mark("area", color=colour("main"), opacity=0.25).encode(x=x("x"), y=y("low"), y2="high:Q")
    line = base.mark("line", color=colour("main"), strokeWidth=1.5).encode(x=x("x"), y=y("y"))
    title = vega.title(
        f"{view.label(timeline.configuration)}, #{timeline.launch}",
        anchor="start",
        frame="group",
        fontSize=13,
        fontWeight="normal",
        color=colour("ink"),
        offset=4,
    )
    layers = [warm.encode(x=x("from"), x2="to:Q"), spread, line] if timeline.warmup else [spread, line]
    return vega.layer(*layers).properties(width=width, height=PANEL_HEIGHT, title=title)


def _round_tick(top: float) -> float:
    """A round number in the upper part of the panel, with its label below the panel's title."""
    power = 10.0 ** math.floor(math.log10(top)) if top > 0 else 1.0
    step = next(m for m in (8, 6, 5, 4, 3, 2, 1.5, 1, 0.8, 0.5) if m * power <= 0.82 * top)
    return round(step * power, 12)


def _words(view: View, timed: list[Timeline]) -> str:
    """The number of warm-up steps per launch, in words."""
    parts = []
    for column in view.columns:
        warm = [t.warmup for t in timed if t.configuration == column.key]
        if warm:
            parts.append(f"{column.label}: {', '.join(str(w) for w in warm)}")
    return f"Warm-up steps of each launch: {'; '.join(parts)}."
