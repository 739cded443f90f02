"""How much of the offered load was good?

Goodput over the load, with the line at which every request is good.
"""

from __future__ import annotations

from typing import Final

from fireassay.metrics.serving.objectives import GOODPUT
from fireassay.reports.charts.chart import Drawing, Key, Missing, absence, in_words, top_of
from fireassay.reports.charts.marks import Line, Mark, Panel
from fireassay.reports.charts.serving.lines import AXIS, engines_of, estimates_of, line_keys, lines, over_loads, scenarios
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
    keys = line_keys(view.confidence, every, values)
    if view.load_word == "rate":
        keys.append(Key(mark="dash", role="soft", text="every request due was good"))
    over = f"Good requests per second over the {AXIS[view.load_word]}. " if len(names) > 1 else ""
    return [
        Drawing(
            title=TITLE,
            panels=tuple(_panel(view, row, name, small=len(names) > 1) for name in names),
            across=2 if len(names) > 1 else 1,
            key=tuple(keys),
            description=in_words(view, row),
            caption=f"{over}A request is good if it met every objective; one that failed met none.",
            quantity="goodput, requests per second",
        )
    ]


def _panel(view: View, row: MetricRow, scenario: str, *, small: bool) -> Panel:
    """Goodput of one scenario. Small multiples share the vertical axis; intervals are cut at the offered load."""
    values = estimates_of(row, lines(view, lambda column: column.engine))
    loads = sorted({column.load or 0.0 for column in view.columns})
    offered = view.load_word == "rate"
    most = 1.08 * max(loads[-1], *(value.value for value in values)) if offered else float("inf")
    ideal: list[Mark] = [Line(points=tuple((load, load) for load in loads), role="soft", dashed=True, thin=True)] if offered else []
    title = scenario if small else ""
    return over_loads(view, row, engines_of(view, scenario), top=min(top_of(values, 1.0), most), small=small, title=title, beneath=ideal)
