"""How do eight metrics change as the load grows?

The 2 x 4 panel, grouped by engine, scenario or load.
"""

from __future__ import annotations

from typing import Final, Literal

from fireassay.estimates.format import given
from fireassay.reports.charts import vega
from fireassay.reports.charts.chart import Drawing, Missing, Rows, above, common_scale, in_words, interval_row, top_of, vertical
from fireassay.reports.charts.serving.lines import SMALL, Line, drawn, estimate, estimates_of, line_keys, lines, load_axis, side_by_side
from fireassay.reports.view import Column, MetricRow, View

NAME = "load-panel"
Condition = Literal["engine", "scenario", "load"]
TITLES: Final = {"engine": "Eight numbers by engine", "scenario": "Eight numbers by scenario", "load": "Eight numbers by load"}
ACROSS: Final = {"concurrency": "Each over the requests in flight.", "rate": "Each over the requests offered per second.", "": ""}


def draw(view: View, by: Condition = "engine") -> Drawing | Missing:
    """Two columns of four panels; grouped by load, scenarios or engines lie along the axis."""
    shown = [(placement, row) for placement, row in view.shown_in("panel") if row.known]
    grouped = lines(view, lambda column: _group(view, column, by))
    panels = [_panel(view, placement.head, row, grouped, by) for placement, row in shown if estimates_of(row, grouped)]
    if not panels:
        return Missing(
            title=TITLES[by], reason="None of the eight numbers was measured." if view.shown_in("panel") else "This record holds no load."
        )
    values = [value for _, row in shown for value in estimates_of(row, grouped)]
    return Drawing(
        title=TITLES[by],
        chart=side_by_side(panels),
        key=tuple(line_keys(view, grouped, values)),
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


def _panel(view: View, head: str, row: MetricRow, grouped: tuple[Line, ...], by: Condition) -> vega.Chart:
    scale = common_scale(row)
    top = top_of(estimates_of(row, grouped), scale.factor)
    layers = []
    for line in grouped:
        rows: Rows = [
            interval_row(value, scale.factor, 0.0, top) | {"x": _across(view, column, by)}
            for column in line.columns
            if (value := estimate(row, column)) is not None
        ]
        layers += drawn(rows, line, _axis(view, by), vertical(0, top, clamp=True)) if rows else []
    unit = "" if row.unit == "1/s" else scale.label
    title = ", ".join(part for part in (head, unit) if part)
    return vega.layer(*layers).properties(width=SMALL[0], height=SMALL[1], title=above(title))


def _across(view: View, column: Column, by: Condition) -> float:
    if by != "load":
        return column.load or 0.0
    return float(_places(view).index((column.engine, column.scenario)))


def _places(view: View) -> list[tuple[str, str]]:
    return list(dict.fromkeys((column.engine, column.scenario) for column in view.columns))


def _axis(view: View, by: Condition) -> vega.Spec:
    if by != "load":
        return load_axis(view, width=SMALL[0], title=False)
    places = _places(view)
    names = [engine if len({e for e, _ in places}) > 1 else scenario for engine, scenario in places]
    words = " : ".join(f"datum.value == {i} ? '{_quoted(name)}'" for i, name in enumerate(names)) + " : ''"
    return vega.x(
        "x:Q",
        scale=vega.scale(domain=[-0.5, len(places) - 0.5], nice=False),
        axis=vega.axis(title=None, values=list(range(len(places))), labelExpr=words, grid=False),
    )


def _quoted(text: str) -> str:
    """Keep letters, digits and the scenario grammar of a name; drop all else, since records are untrusted."""
    return "".join(letter for letter in text if letter.isalnum() or letter in " ._-(),/")
