"""Did each launch reach a steady state, and after how many steps?"""

from __future__ import annotations

import math

from fireassay.estimates.format import Scale, count, scale_for
from fireassay.reports.charts.chart import Drawing, Key, Missing, linear, written_tick
from fireassay.reports.charts.marks import Area, Axis, Band, Line, Mark, Panel
from fireassay.reports.series.training import Timeline
from fireassay.reports.view import View

NAME = "launch-timeline"
TITLE = "Step times over each launch"
MOST_PANELS = 15
ACROSS = 3
PANEL_HEIGHT = 60
ROOM = 1.25  # factor by which the panel exceeds the slowest steady steps


def draw(view: View) -> Drawing | Missing:
    """Small multiples, one panel per timed launch, with the warm-up tinted."""
    timed = [timeline for timeline in view.series.timelines if timeline.role == "timed"]
    if not timed:
        return Missing(title=TITLE, reason="No step was recorded. Mark the steps with `for batch in probe.steps(loader)`.")
    chosen = chosen_panels(timed, [column.key for column in view.columns])
    tops = {key: _top([t for t in timed if t.configuration == key]) for key in {t.configuration for t in chosen}}
    scale = scale_for("s", tops.values())
    more = f" {len(chosen)} of {count(len(timed), 'launches')} are shown." if len(chosen) < len(timed) else ""
    return Drawing(
        title=TITLE,
        panels=tuple(_panel(view, timeline, scale, tops[timeline.configuration] * scale.factor) for timeline in chosen),
        across=len(view.columns) if len(view.columns) in (2, 3) else min(ACROSS, len(chosen)),
        description=_words(view, timed),
        caption=f"Step time in {scale.label} over the step’s number; panels of one worker count share a scale, and steps above it are held at its top.{more}",
        key=(
            Key(mark="line", role="blue", text="median step, with smallest and largest where steps are drawn together"),
            Key(mark="band", role="soft", text="warm-up, excluded from every number"),
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


def _panel(view: View, timeline: Timeline, scale: Scale, top: float) -> Panel:
    factor = scale.factor
    at = [((b.first + b.last) / 2, b) for b in timeline.bins]
    first, last = timeline.bins[0].first, timeline.bins[-1].last
    marks: list[Mark] = [Area(left=first, right=first + timeline.warmup, role="soft", strong=0.25)] if timeline.warmup else []
    marks.append(Band(points=tuple((x, min(b.low_s * factor, top), min(b.high_s * factor, top)) for x, b in at)))
    marks.append(Line(points=tuple((x, min(b.median_s * factor, top)) for x, b in at), thin=True))
    x = Axis(low=first, high=max(last, first + 1), ticks=((first, str(first)), (max(last, first + 1), str(last))), grid=False)
    ticks = linear(0, top, most=2).ticks
    y = Axis(low=0, high=top, ticks=tuple((v, written_tick(v)) for v, _ in ticks))
    return Panel(x=x, y=y, marks=tuple(marks), height=PANEL_HEIGHT, title=f"{view.label(timeline.configuration)}, #{timeline.launch}")


def _words(view: View, timed: list[Timeline]) -> str:
    """The number of warm-up steps per launch, in words."""
    parts = []
    for column in view.columns:
        warm = [t.warmup for t in timed if t.configuration == column.key]
        if warm:
            parts.append(f"{column.label}: {', '.join(str(w) for w in warm)}")
    return f"Warm-up steps of each launch: {'; '.join(parts)}."
