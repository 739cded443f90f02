"""How is a graph drawn by Excel itself?

On one sheet, each chart has its numbers beside it: value, low and high, and the lengths of the interval below and above the value, to
which the error bars refer. XlsxWriter draws every chart that a graph needs, with error bars from cells, and writes 50,000 rows in half
the memory of openpyxl, which has neither combined charts with custom error bars nor a writer without a cell object each.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, Final

from xlsxwriter.utility import xl_range_abs

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.estimates.rounding import decimals_of, rounded, significant
from fireassay.reports.figures import ends
from fireassay.reports.graph import REFERENCE, REST, WHOLE, Amounts, Axis, Graph, Trace
from fireassay.reports.page import Cell, Figure
from fireassay.reports.writers.support import cells
from fireassay.reports.writers.support.cells import Styles

SHEET: Final = "Charts"
LEFT: Final = 9  # column of the tables, right of the charts
SIZE: Final = {"width": 580, "height": 350}  # pixels
WIDTH: Final = 16  # of a column, in characters
TALL: Final = 19  # rows of a chart with the gap below it
BAR: Final = 26  # pixels of a horizontal bar
ROOM: Final = 1.25  # of a logarithmic axis beyond its largest number
MOST_DECIMALS: Final = 6
PLAIN_DIGITS: Final = 4  # of a number without an interval
PALETTE: Final = ("#1D5DA6", "#BD5500", "#0D7D6C", "#8B4AA6", "#B07A00", "#6493C8")
NEUTRAL: Final = {REFERENCE: "#6F747A", WHOLE: "#1B1E22", REST: "#A9ADB2"}
MARKERS: Final = ("circle", "square", "triangle", "diamond", "x", "star")
PARTS: Final = ("", ", low", ", high", ", minus", ", plus")  # the last two: the lengths of its error bars


@dataclass(frozen=True, kw_only=True)
class Placed:
    """A column of a graph on the sheet: the place of its value, and of the lengths of its intervals, if it has any."""

    first_row: int
    column: int
    minus: tuple[float, ...] = ()
    plus: tuple[float, ...] = ()

    def cells(self, rows: tuple[int, int], beside: int = 0) -> str:
        """The range of some rows, `beside` columns to the right."""
        column = self.column + beside
        return f"={SHEET}!{xl_range_abs(self.first_row + rows[0], column, self.first_row + rows[1], column)}"


def add(book: Any, styles: Styles, graphs: Sequence[Graph], headline: str) -> None:
    """Add the sheet of all charts, each beside its numbers."""
    page = book.add_worksheet(SHEET)
    page.hide_gridlines(2)
    cells.printed_on_one_width(page)
    page.set_column(0, LEFT - 2, 10)
    page.set_column(LEFT - 1, LEFT - 1, 2)
    page.write_string(0, 0, headline[: cells.LONGEST_TEXT], styles.title)
    row = 2
    for graph in graphs:
        placed = _write_table(page, styles, row, graph)
        chart = _chart(book, graph, placed)
        page.insert_chart(row, 0, chart, {"x_offset": 4, "y_offset": 2, "object_position": 2, "description": graph.title})
        row += max(TALL, len(graph.columns[0].values) + len(graph.notes) + 5)


# ---- numbers ---------------------------------------------------------------------------------------------------------


def _write_table(page: Any, styles: Styles, top: int, graph: Graph) -> list[Placed]:
    """Title, heads, a row per point and the notes; returns the place of each column."""
    page.write_string(top, LEFT, graph.title, styles.title)
    parts = [_parts(column) for column in graph.columns]
    starts = list(accumulate((len(columns) for columns in parts), initial=LEFT))
    flat = [(f"{amounts.title}{PARTS[i]}", column) for amounts, of in zip(graph.columns, parts, strict=True) for i, column in enumerate(of)]
    notes = [_reasons(graph, place) for place in range(len(graph.columns[0].values))]
    if any(notes):
        flat.append(("Not measured", notes))
    for column, (title, contents) in enumerate(flat, start=LEFT):
        page.write_string(top + 1, column, title, styles.head)
        page.set_column(column, column, WIDTH)
        for row, content in enumerate(contents, start=top + 2):
            cells.write(page, styles, row, column, content)
    page.set_row(top + 1, cells.height([title for title, _ in flat], [WIDTH] * len(flat)))
    for row, note in enumerate(graph.notes, start=top + 3 + len(notes)):
        page.write_string(row, LEFT, note, styles.quiet)
    return [_placed(top + 2, start, of) for start, of in zip(starts, parts, strict=False)]


def _parts(amounts: Amounts) -> list[list[Cell]]:
    """One column, or five where a value has an interval."""
    decimals = _decimals(amounts)
    if not any(isinstance(value, Estimate) for value in amounts.values):
        return [[_plain(value, decimals) for value in amounts.values]]
    rows = [_ends(value, amounts.factor, decimals) for value in amounts.values]
    return [[row[part] for row in rows] for part in range(len(PARTS))]


def _plain(value: object, decimals: int) -> Cell:
    if isinstance(value, float) and not value.is_integer():
        return Figure(value=value, style=_style(decimals))
    return value if isinstance(value, int | float | str) else None


def _ends(value: object, factor: float, decimals: int) -> list[Cell]:
    """Value, low, high, and the lengths of the interval on both sides; no cell where there is no number."""
    if not isinstance(value, Estimate):
        return [None] * len(PARTS)
    low, high = (float(rounded(end * factor, decimals, way)) for end, way in ((value.low, "down"), (value.high, "up")))  # type: ignore[arg-type]
    shown = replace(value, value=value.value * factor, low=low, high=high)
    middle, bottom, top = (replace(cell, style=_style(decimals)) if isinstance(cell, Figure) else cell for cell in ends(shown))
    return [middle, bottom, top, _length(middle, bottom), _length(top, middle)]


def _length(larger: Cell, smaller: Cell) -> Cell:
    if not isinstance(larger, Figure) or not isinstance(smaller, Figure):
        return None
    return replace(larger, value=max(0.0, larger.value - smaller.value))


def _decimals(amounts: Amounts) -> int:
    """One number of decimals for the column: as many as its most precise interval supports."""
    known = [value for value in amounts.values if isinstance(value, Estimate)]
    plain = [value for value in amounts.values if isinstance(value, float)]
    decimals = [decimals_of(*(end * amounts.factor for end in (value.value, value.low, value.high))).value for value in known]
    decimals += [significant(max(map(abs, plain)), PLAIN_DIGITS)] if plain else []
    return min(MOST_DECIMALS, max(0, *decimals)) if decimals else 0


def _style(decimals: int) -> str:
    return f"#,##0{'.' if decimals else ''}{'0' * decimals}"


def _reasons(graph: Graph, place: int) -> str:
    values = [(column.title, column.values[place]) for column in graph.columns]
    return "; ".join(f"{title}: {value.detail}" for title, value in values if isinstance(value, Absent))


def _placed(row: int, column: int, parts: list[list[Cell]]) -> Placed:
    lengths = (tuple(c.value if isinstance(c, Figure) else 0.0 for c in part) for part in parts[3:])
    minus, plus = lengths if len(parts) > 1 else ((), ())
    return Placed(first_row=row, column=column, minus=minus, plus=plus)


# ---- charts ----------------------------------------------------------------------------------------------------------

KINDS: Final = {
    "plane": {"type": "scatter", "subtype": "straight_with_markers"},
    "columns": {"type": "column", "subtype": "stacked"},
    "bars": {"type": "bar"},
}


def _chart(book: Any, graph: Graph, placed: Sequence[Placed]) -> Any:
    chart = book.add_chart(KINDS[graph.shape])
    overlay = book.add_chart({"type": "line"}) if graph.shape == "columns" else None
    for index, trace in enumerate(graph.traces):
        onto = overlay if overlay is not None and trace.look != "stacked" else chart
        onto.add_series(_series(graph, placed, trace, index))
    if overlay is not None and any(trace.look != "stacked" for trace in graph.traces):
        chart.combine(overlay)
    chart.set_title({"name": graph.title, "name_font": {"size": 13}, "overlay": False})
    numbers = graph.columns[graph.x].values
    values_axis, names_axis = _axis(graph.up, _all(graph)), _axis(graph.across, numbers)
    if graph.shape == "bars":  # its categories are the vertical axis, from the top, and its values the horizontal one
        chart.set_x_axis({**_axis(graph.across, ()), "num_format": "General", "label_position": "low"})
        chart.set_y_axis({**values_axis, "reverse": True, "label_position": "low", "major_gridlines": {"visible": False}})
    else:
        chart.set_x_axis({**names_axis, "major_gridlines": {"visible": False}})
        chart.set_y_axis(values_axis)
    chart.set_legend({"position": "bottom"} if len(graph.traces) > 1 else {"none": True})
    chart.show_blanks_as("gap")
    height = max(SIZE["height"], 120 + BAR * len(numbers)) if graph.shape == "bars" else SIZE["height"]
    chart.set_size({**SIZE, "height": height})
    return chart


def _all(graph: Graph) -> list[float]:
    """Every number on the axis of values, for its limits."""
    columns = [graph.columns[trace.column] for trace in graph.traces]
    found = ((value.value if isinstance(value, Estimate) else value, column.factor) for column in columns for value in column.values)
    return [value * factor for value, factor in found if isinstance(value, int | float)]


def _axis(axis: Axis, values: Iterable[object]) -> dict[str, Any]:
    """Title with unit; a logarithmic axis begins at a power of its base, because it crosses the other one there."""
    made: dict[str, Any] = {"name": axis.title, "name_font": {"bold": False}, "num_format": "General"}
    made |= {"line": {"color": "#85898E"}, "major_gridlines": {"visible": True, "line": {"color": "#E8E6E1"}}}
    numbers = [value for value in values if isinstance(value, int | float)]
    positive = [number for number in numbers if number > 0]
    if axis.base and positive:
        low = math.floor(math.log(min(positive), axis.base) + 1e-9)
        return made | {"log_base": axis.base, "min": axis.base**low, "max": ROOM * max(positive), "crossing": axis.base**low}
    if numbers and min(numbers) >= 0:
        made["min"] = 0
    return made | ({"major_unit": axis.step, "max": math.ceil(max(numbers)) + 1} if axis.step else {})


def _series(graph: Graph, placed: Sequence[Placed], trace: Trace, index: int) -> dict[str, Any]:
    colour, own = NEUTRAL.get(trace.colour) or PALETTE[trace.colour % len(PALETTE)], placed[trace.column]
    made: dict[str, Any] = {
        "name": trace.name,
        "categories": placed[graph.x].cells(trace.rows),
        "values": own.cells(trace.rows),
        **_look(trace, colour, index),
    }
    if trace.look in ("stacked", "dashes"):
        return made
    bars = {"y_error_bars": _error_bars(own, trace, colour)} if own.minus else {}
    beside = placed[graph.x]
    return made | bars | ({"x_error_bars": _error_bars(beside, trace, colour)} if beside.minus else {})


def _look(trace: Trace, colour: str, index: int) -> dict[str, Any]:
    none = {"none": True}
    if trace.look in ("stacked", "bar"):
        fill = {"color": colour} | ({"transparency": 60} if trace.look == "bar" else {})
        return {"fill": fill, "border": {"color": "#FFFFFF", "width": 0.75}, "gap": 60}
    mark = {"type": MARKERS[index % len(MARKERS)], "size": 4, "fill": {"color": colour}, "border": {"color": colour}}
    line = {"color": colour, "width": 1.5}
    match trace.look:
        case "marks":
            return {"line": none, "marker": mark}
        case "dashes":
            return {"line": line | {"dash_type": "dash"}, "marker": {"type": "none"}}
        case "dotted":
            return {"line": line | {"dash_type": "round_dot"}, "marker": mark | {"fill": {"color": "#FFFFFF"}}}
    return {"line": line, "marker": mark}


def _error_bars(column: Placed, trace: Trace, colour: str) -> dict[str, Any]:
    """Intervals by their cells; the numbers themselves are kept in the file for programs that do not read the cells."""
    first, last = trace.rows
    return {
        "type": "custom",
        "minus_values": column.cells(trace.rows, 3),
        "plus_values": column.cells(trace.rows, 4),
        "minus_data": list(column.minus[first : last + 1]),
        "plus_data": list(column.plus[first : last + 1]),
        "line": {"color": colour, "width": 1.5},
    }
