"""How do the metrics of a load lie against each other: the plots that genai-bench's presets draw, with our metrics and their intervals?

A plot has one or several metrics upwards, and across them a throughput or the load; a line per engine and scenario.  Which metrics: `PLOTS` in
`fireassay.reports.metric_tables`.  Medians stand for genai-bench's means, and the time per token for its inverse, the "inference speed".
A plot of which nothing was measured is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from fireassay.estimates.format import show
from fireassay.reports.charts.axes import linear, top_of
from fireassay.reports.charts.loads import AXIS, Line, estimate, estimates_of, line_keys, lines, load_axis, load_of
from fireassay.reports.charts.model import Axis, Chart, Drawn, Panel
from fireassay.reports.charts.of_view import common_scale, in_words, quantity
from fireassay.reports.charts.points import point
from fireassay.reports.metric_tables import PLOTS, Plot
from fireassay.reports.view import MetricRow, View

HEIGHT: Final = 160


def preset(view: View, name: str) -> Chart:
    """The plots of a preset, two side by side."""
    groups, panels = lines(view, lambda column: column.group), []
    drawn: dict[str, Line] = {}
    rows: dict[str, MetricRow] = {}
    for plot in PLOTS[name]:
        up = [row for metric in plot.up if (row := view.metric(metric)) is not None and estimates_of(row, groups)]
        across = view.metric(plot.across) if plot.across else None
        if not up or (plot.across and (across is None or not estimates_of(across, groups))):
            continue
        named = [(row, line) for index, row in enumerate(up) for line in _named(row, index, groups, several=len(up) > 1)]
        panels.append(_panel(view, plot, across, named))
        drawn |= {line.name: line for _, line in named}
        rows |= {row.name: row for row in up}
    if not panels:
        return Chart(name=f"plots-{name}", title=name, missing="None of its metrics was measured at any load.")
    values = [value for row in rows.values() for value in estimates_of(row, groups)]
    return Chart(
        name=f"plots-{name}",
        title=name,
        panels=tuple(panels),
        across=2,
        key=tuple(line_keys(view.confidence, tuple(drawn.values()), values)),
        caption="Every number is in the tables of the record's report.",
        description=in_words(view, *rows.values()),
    )


def _named(row: MetricRow, index: int, groups: Sequence[Line], *, several: bool) -> Iterator[Line]:
    """The lines of a metric; of several in one plot each has the name of its percentile and its own look."""
    for line in groups:
        if not several:
            yield line
            continue
        last = row.title.rpartition(", ")[2]
        name = f"{line.name}, {last}" if line.name else last
        yield replace(line, name=name, place=line.place + (index + 1) * len(groups))


def _panel(view: View, plot: Plot, across: MetricRow | None, named: Sequence[tuple[MetricRow, Line]]) -> Panel:
    rows = list(dict.fromkeys(row.name for row, _ in named))
    scale = common_scale(named[0][0])
    every = [value for row, line in named for value in estimates_of(row, (line,))]
    marks: list[Drawn] = []
    for row, line in named:
        points = []
        for column in line.columns:
            value, wide = estimate(row, column), None if across is None else estimate(across, column)
            if value is None or (across is not None and wide is None):
                continue
            x, more = load_of(column), ""
            if across is not None and wide is not None:
                factor = common_scale(across)
                x, more = wide.value * factor.factor, f"at {show(wide, factor).full}"
            points.append(point(column.label, x, value, scale, more=more))
        marks += line.through(points)
    title = quantity(named[0][0])
    return Panel(
        x=load_axis(view, AXIS[view.load_word]) if across is None else _x(across, named),
        y=linear(0, top_of(every, scale.factor), most=4),
        marks=tuple(marks),
        height=HEIGHT,
        title=title if len(rows) == 1 else title.replace(f", {named[0][0].title.rpartition(', ')[2]}", "", 1),
    )


def _x(across: MetricRow, named: Sequence[tuple[MetricRow, Line]]) -> Axis:
    text = quantity(across)
    values = estimates_of(across, tuple(line for _, line in named))
    return linear(0, top_of(values, common_scale(across).factor), text[:1].lower() + text[1:], most=4, grid=False)
