"""How do the headline metrics change as the load grows?

Small multiples, grouped by engine, scenario or load.
"""

from __future__ import annotations

from typing import Final, Literal

from fireassay.estimates.format import count, given
from fireassay.reports.charts.chart import Drawing, Missing, common_scale, in_words, linear, top_of
from fireassay.reports.charts.marks import Axis, Panel
from fireassay.reports.charts.serving.lines import SMALL, Line, drawn, estimates_of, line_keys, lines, load_axis
from fireassay.reports.metric_tables import PANEL
from fireassay.reports.view import Column, MetricRow, View

NAME = "load-panel"
Condition = Literal["engine", "scenario", "load"]
ACROSS: Final = {"concurrency": "Each over the requests in flight.", "rate": "Each over the requests offered per second.", "": ""}


def draw(view: View, by: Condition = "engine") -> Drawing | Missing:
    """Two columns of panels, one per measured metric; grouped by load, scenarios or engines lie along the axis."""
    grouped = lines(view, lambda column: _group(view, column, by))
    shown = [(placement, row) for placement, row in view.shown_in(PANEL) if estimates_of(row, grouped)]
    if not shown:
        reason = "None of the headline metrics was measured." if view.shown_in(PANEL) else "This record holds no load."
        return Missing(title=f"Headline metrics by {by}", reason=reason)
    values = [value for _, row in shown for value in estimates_of(row, grouped)]
    return Drawing(
        title=f"{count(len(shown), 'metrics').capitalize()} by {by}",
        panels=tuple(_panel(view, placement.head, row, grouped, by) for placement, row in shown),
        across=2,
        key=tuple(line_keys(view.confidence, grouped, values)),
        caption=f"{ACROSS[view.load_word] if by != 'load' else ''} Every number is in the tables.".strip(),
        description=" ".join(in_words(view, row) for _, row in shown),
    )


def conditions(view: View) -> tuple[Condition, ...]:
    """The conditions that this record varies."""
    varied: list[Condition] = []
    if len({column.engine for column in view.columns}) > 1:
        varied.append("engine")
    if len({column.scenario for column in view.columns}) > 1:
        varied.append("scenario")
    if len({column.load for column in view.columns}) > 1:
        varied.append("load")
    return tuple(varied) or ("engine",)


def _group(view: View, column: Column, by: Condition) -> str:
    if by == "load":
        return f"{given(column.load)} {view.load_word}" if column.load is not None else "as planned"
    name, other = (column.engine, column.scenario) if by == "engine" else (column.scenario, column.engine)
    others = {c.scenario if by == "engine" else c.engine for c in view.columns}
    return f"{name}, {other}" if len(others) > 1 else name


def _panel(view: View, head: str, row: MetricRow, grouped: tuple[Line, ...], by: Condition) -> Panel:
    scale = common_scale(row)
    top = top_of(estimates_of(row, grouped), scale.factor)
    marks = [mark for line in grouped for mark in drawn(row, line, scale, lambda column: _across(view, column, by))]
    title = ", ".join(part for part in (head, "" if row.unit == "1/s" else scale.label) if part)
    return Panel(x=_axis(view, by), y=linear(0, top, most=3), marks=tuple(marks), height=SMALL, title=title)


def _across(view: View, column: Column, by: Condition) -> float:
    if by != "load":
        return column.load or 0.0
    return float(_places(view).index((column.engine, column.scenario)))


def _places(view: View) -> list[tuple[str, str]]:
    return list(dict.fromkeys((column.engine, column.scenario) for column in view.columns))


def _axis(view: View, by: Condition) -> Axis:
    if by != "load":
        return load_axis(view, title=False)
    places = _places(view)
    names = [engine if len({e for e, _ in places}) > 1 else scenario for engine, scenario in places]
    return Axis(low=-0.5, high=len(places) - 0.5, ticks=tuple((float(i), name) for i, name in enumerate(names)), grid=False)
