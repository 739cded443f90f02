"""What do eight numbers do as the load grows?  The 2 x 4 panel, grouped by engine, scenario or load."""

from __future__ import annotations

from typing import Any, Final, Literal

import altair as alt

from assay.metrics.format import given
from assay.reports.pictures.base import WIDTH, Drawing, Missing, Rows, above, common_scale, top_of
from assay.reports.pictures.loads import Line, drawn, estimate, line_keys, lines, load_axis, marked, vertical
from assay.reports.view import Column, View

Condition = Literal["engine", "scenario", "load"]
PRESET: Final = (
    "output_throughput", "request_throughput", "input_throughput", "error_rate",
    "ttft_p50", "ttft_p95", "tpot_p50", "e2e_p95",
)  # fmt: skip
TITLES: Final = {
    "engine": "Eight numbers by engine",
    "scenario": "Eight numbers by scenario",
    "load": "Eight numbers by load",
}
PANEL: Final = (WIDTH // 2 - 46, 110)


def draw(view: View, by: Condition = "engine") -> Drawing | Missing:
    """Two columns of four panels; by load the scenarios or engines lie along the axis."""
    if view.serving is None:
        return Missing(title=TITLES[by], reason="This record holds no load.")
    rows = [row for name in PRESET if (row := view.metric(name)) is not None]
    found = lines(view, lambda column: _group(view, column, by))
    panels = [panel for row in rows if (panel := _panel(view, row.name, found, by)) is not None]
    if not panels:
        return Missing(title=TITLES[by], reason="None of the eight numbers was measured.")
    chart = alt.concat(*panels, columns=2, spacing={"row": 12, "column": 14})
    measured = [row for row in rows if any(estimate(row, column) for column in view.columns)]
    return Drawing(
        title=TITLES[by], chart=chart, key=tuple(line_keys(view, found)), caption="Every number stands in the table of all metrics.",
        description=" ".join(f"{row.title}: " + "; ".join(
            f"{column.label} {cell.full}" for column in view.columns if (cell := row.cells.get(column.key)) is not None
        ) + "." for row in measured),
    )  # fmt: skip


def conditions(view: View) -> tuple[Condition, ...]:
    """The conditions that this record varies."""
    found: list[Condition] = []
    if len({column.engine for column in view.columns}) > 1:
        found.append("engine")
    if len({column.scenario for column in view.columns}) > 1:
        found.append("scenario")
    if len({column.load for column in view.columns}) > 1:
        found.append("load")
    return tuple(found) or ("engine",)


def _group(view: View, column: Column, by: Condition) -> str:
    if by == "load":
        return f"{given(column.load)} {view.load_word}" if column.load is not None else "as planned"
    own, other = (column.engine, column.scenario) if by == "engine" else (column.scenario, column.engine)
    others = {c.scenario if by == "engine" else c.engine for c in view.columns}
    return f"{own}, {other}" if len(others) > 1 else own


def _panel(view: View, name: str, found: tuple[Line, ...], by: Condition) -> Any:
    row = view.metric(name)
    assert row is not None
    values = [value for column in view.columns if (value := estimate(row, column)) is not None]
    if not values:
        return None
    scale = common_scale(row)
    top = top_of(values, scale.factor)
    y = vertical(top)
    layers = []
    for line in found:
        rows: Rows = [
            marked(value, scale.factor, top) | {"x": _across(view, column, by)}
            for column in line.columns if (value := estimate(row, column)) is not None
        ]  # fmt: skip
        if rows:
            layers += drawn(rows, line, _axis(view, by), y)
    title = above(f"{row.title}, {scale.label}" if scale.label else row.title)
    return alt.layer(*layers).properties(width=PANEL[0], height=PANEL[1], title=title)


def _across(view: View, column: Column, by: Condition) -> float:
    if by != "load":
        return column.load or 0.0
    return float(_places(view).index((column.engine, column.scenario)))


def _places(view: View) -> list[tuple[str, str]]:
    return list(dict.fromkeys((column.engine, column.scenario) for column in view.columns))


def _axis(view: View, by: Condition) -> alt.X:
    if by != "load":
        return load_axis(view)
    places = _places(view)
    names = [engine if len({e for e, _ in places}) > 1 else scenario for engine, scenario in places]
    words = " : ".join(f"datum.value == {i} ? '{_quoted(name)}'" for i, name in enumerate(names)) + " : ''"
    return alt.X(
        "x:Q", scale=alt.Scale(domain=[-0.5, len(places) - 0.5], nice=False),
        axis=alt.Axis(title=None, values=list(range(len(places))), labelExpr=words, grid=False),
    )  # fmt: skip


def _quoted(text: str) -> str:
    """Names are letters, digits and the scenario grammar; whatever else somebody wrote into a record is left out."""
    return "".join(letter for letter in text if letter.isalnum() or letter in " ._-(),/")
