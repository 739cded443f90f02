"""How is a graph drawn by Excel itself?

On one sheet, each chart has its numbers beside it: value, low and high, and the lengths of the interval below and above the value, to
which the error bars refer. XlsxWriter draws all of it: error bars from cells, columns combined with points, logarithmic axes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, Final

from xlsxwriter.utility import xl_range_abs

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.estimates.rounding import decimals_of, rounded, significant
from fireassay.printable import printable
from fireassay.reports.figures import ends
from fireassay.reports.graph import REFERENCE, REST, WHOLE, Amounts, Axis, Graph, Trace
from fireassay.reports.page import Cell, Figure
from fireassay.reports.writers.support import cells
from fireassay.reports.writers.support.cells import Styles

SHEET: Final = "Charts"
LEFT: Final = 9  # column of the tables, right of the charts
SIZE: Final = {"width": 580, "height": 350}  # pixels
WIDTH: Final = 16  # of a column, in characters
NAMES: Final = 34
TALL: Final = 19  # rows of a chart with the gap below it
BAR: Final = 26  # pixels of a horizontal bar
ROOM: Final = 1.25  # of a logarithmic axis beyond its largest number
REACH: Final = 4.0  # multiple of the largest value
CUT: Final = "An interval without a cap continues beyond the chart; its ends are in the table."
MOST_DIGITS: Final = 6  # of the largest number of a column
MOST_DECIMALS: Final = 8
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
        page.insert_chart(row, 0, chart, {"x_offset": 4, "y_offset": 2, "object_position": 2, "description": _literal(graph.title)})
        row += max(TALL, len(graph.columns[0].values) + len(_notes(graph)) + 5)


# ---- numbers ---------------------------------------------------------------------------------------------------------


def _write_table(page: Any, styles: Styles, top: int, graph: Graph) -> list[Placed]:
    """Title, heads, a row per point and the notes; returns the place of each column."""
    page.write_string(top, LEFT, graph.title, styles.title)
    common = max((_decimals(column) for column in graph.columns if _has_intervals(column)), default=None)
    parts = [_parts(column, common if graph.shape == "columns" else None) for column in graph.columns]
    starts = list(accumulate((len(columns) for columns in parts), initial=LEFT))
    flat = [(f"{amounts.title}{PARTS[i]}", column) for amounts, of in zip(graph.columns, parts, strict=True) for i, column in enumerate(of)]
    notes: list[Cell] = [_reasons(graph, place) for place in range(len(graph.columns[0].values))]
    if any(notes):
        flat.append(("Not measured", notes))
    for column, (title, contents) in enumerate(flat, start=LEFT):
        page.write_string(top + 1, column, title, styles.head)
        page.set_column(column, column, WIDTH if column > LEFT else NAMES)
        for row, content in enumerate(contents, start=top + 2):
            cells.write(page, styles, row, column, content)
    page.set_row(top + 1, cells.height([title for title, _ in flat], [WIDTH] * len(flat)))
    for row, note in enumerate(_notes(graph), start=top + 3 + len(notes)):
        page.write_string(row, LEFT, note, styles.quiet)
    return [_placed(top + 2, start, of) for start, of in zip(starts, parts, strict=False)]


def _notes(graph: Graph) -> tuple[str, ...]:
    """What is said below the table; an interval is never cut silently."""
    drawn = [graph.columns[place] for place in {graph.x, *(trace.column for trace in graph.traces)}]
    cut = any(abs(end) > _reach(column) and math.isfinite(end) for column in drawn for end in _known_ends(column))
    return (*graph.notes, *((CUT,) if cut else ()))


def _has_intervals(amounts: Amounts) -> bool:
    return any(isinstance(value, Estimate) for value in amounts.values)


def _parts(amounts: Amounts, common: int | None) -> list[list[Cell]]:
    """One column, or five where a value has an interval; `common`: the decimals of all columns."""
    decimals = _decimals(amounts) if common is None else common
    if not _has_intervals(amounts):
        return [[_plain(value, decimals) for value in amounts.values]]
    rows = [_ends(value, amounts.factor, decimals) for value in amounts.values]
    return [[row[part] for row in rows] for part in range(len(PARTS))]


def _plain(value: object, decimals: int) -> Cell:
    if isinstance(value, float) and not value.is_integer():
        return Figure(value=value, style=_style(decimals))
    if isinstance(value, str):
        return printable(value)  # XlsxWriter copies it into the chart, unescaped
    return value if isinstance(value, int | float) else None


def _ends(value: object, factor: float, decimals: int) -> list[Cell]:
    """Value, low, high, and the lengths of the interval on both sides; no cell where there is no number."""
    if not isinstance(value, Estimate):
        return [None] * len(PARTS)
    low, high = (float(rounded(end * factor, decimals, way)) for end, way in ((value.low, "down"), (value.high, "up")))  # type: ignore[arg-type]
    shown = replace(value, value=value.value * factor, low=low, high=high)
    middle, bottom, top = (replace(cell, style=_style(decimals)) if isinstance(cell, Figure) else cell for cell in ends(shown))
    lengths = (Figure(value=end, style=_style(decimals)) if math.isfinite(end) else None for end in _lengths(value, factor))
    return [middle, bottom, top, *lengths]


def _lengths(value: Estimate, factor: float) -> tuple[float, float]:
    """The exact interval below and above a value."""
    return max(0.0, value.value - value.low) * factor, max(0.0, value.high - value.value) * factor


def _decimals(amounts: Amounts) -> int:
    """One number of decimals for the column: as many as its most precise interval supports."""
    known = [value for value in amounts.values if isinstance(value, Estimate)]
    plain = [value for value in amounts.values if isinstance(value, float)]
    factor = amounts.factor
    decimals = [decimals_of(value.value * factor, value.low * factor, value.high * factor).value for value in known]
    decimals += [significant(max(map(abs, plain)), PLAIN_DIGITS)] if plain else []
    largest = max((abs(value.value * amounts.factor) for value in known), default=1.0)
    return max(0, min(max(decimals, default=0), significant(largest, MOST_DIGITS), MOST_DECIMALS))


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
    chart.set_title({"name": _literal(graph.title), "name_font": {"size": 13}, "overlay": False})
    numbers = graph.columns[graph.x].values
    values_axis, names_axis = _axis(graph.up, _drawn(graph)), _axis(graph.across, _ends_of(graph.columns[graph.x]))
    if graph.shape == "bars":  # its categories are the vertical axis, from the top, and its values the horizontal one
        chart.set_x_axis({**_axis(graph.up, _drawn(graph)), "label_position": "high"})
        chart.set_y_axis({"reverse": True, "label_position": "low", "major_gridlines": {"visible": False}})
    else:
        chart.set_x_axis({**names_axis, "major_gridlines": {"visible": False}})
        chart.set_y_axis(values_axis)
    chart.set_legend({"position": "bottom"} if len(graph.traces) > 1 else {"none": True})
    chart.show_blanks_as("gap")
    height = max(SIZE["height"], 120 + BAR * len(numbers)) if graph.shape == "bars" else SIZE["height"]
    chart.set_size({**SIZE, "height": height})
    return chart


def _drawn(graph: Graph) -> list[float]:
    """Every number on the axis of values; columns that are stacked count as their sums."""
    stacked = [graph.columns[trace.column] for trace in graph.traces if trace.look == "stacked"]
    alone = [graph.columns[trace.column] for trace in graph.traces if trace.look != "stacked"]
    sums = [sum(value for value in row if isinstance(value, float)) for row in zip(*(column.values for column in stacked), strict=True)]
    return [*sums, *(number for column in alone for number in _ends_of(column))]


def _ends_of(amounts: Amounts) -> list[float]:
    """Values and the ends of their intervals; those farther away than `REACH` values are cut by the edge of the chart."""
    plain = [float(value) for value in amounts.values if isinstance(value, int | float)]
    return [*plain, *(end * amounts.factor for end in _known_ends(amounts) if abs(end) <= _reach(amounts))]


def _known_ends(amounts: Amounts) -> list[float]:
    return [end for value in amounts.values if isinstance(value, Estimate) for end in (value.value, value.low, value.high)]


def _reach(amounts: Amounts) -> float:
    return REACH * max((abs(value.value) for value in amounts.values if isinstance(value, Estimate)), default=0.0)


def _axis(axis: Axis, numbers: Sequence[float]) -> dict[str, Any]:
    """Title with unit, and limits that hold every interval, which a spreadsheet does not see to.

    A logarithmic axis begins at a power of its base, because the other axis crosses it there.
    """
    made: dict[str, Any] = {"name": _literal(axis.title), "name_font": {"bold": False}, "num_format": "General"}
    made |= {"line": {"color": "#85898E"}, "major_gridlines": {"visible": True, "line": {"color": "#E8E6E1"}}}
    positive = [number for number in numbers if number > 0]
    if axis.base and positive:
        low = axis.base ** math.floor(math.log(min(positive), axis.base) + 1e-9)
        return made | {"log_base": axis.base, "min": low, "max": ROOM * max(positive), "crossing": low}
    if not numbers or max(map(abs, numbers)) == 0.0:
        return made
    if axis.step:
        return made | {"min": 0, "max": math.ceil(max(numbers)) + 1, "major_unit": axis.step}
    step = _round_step(max(0.0, *numbers) - min(0.0, *numbers))
    low, high = (step * rounded_to(end / step) for rounded_to, end in ((math.floor, min(0.0, *numbers)), (math.ceil, max(0.0, *numbers))))
    return made | {"min": low, "max": high, "major_unit": step}


def _round_step(span: float) -> float:
    """1, 2 or 5 times a power of ten, about a fifth of the span."""
    power: float = 10.0 ** math.floor(math.log10(span / 5))
    return float(f"{next(power * m for m in (1, 2, 5, 10) if span / (power * m) <= 6):.12g}")


def _series(graph: Graph, placed: Sequence[Placed], trace: Trace, index: int) -> dict[str, Any]:
    colour, own = NEUTRAL.get(trace.colour) or PALETTE[trace.colour % len(PALETTE)], placed[trace.column]
    made: dict[str, Any] = {
        "name": _literal(trace.name),
        "categories": placed[graph.x].cells(trace.rows),
        "values": own.cells(trace.rows),
        **_look(trace, colour, index),
    }
    if trace.look in ("stacked", "dashes"):
        return made
    bars = {"y_error_bars": _error_bars(own, trace, colour)} if own.minus else {}
    beside = placed[graph.x]
    return made | bars | ({"x_error_bars": _error_bars(beside, trace, colour)} if beside.minus else {})


def _literal(text: str) -> str:
    """A name that XlsxWriter does not take for a formula; without control characters, which XML cannot hold."""
    clean = printable(text)
    return f" {clean}" if clean.startswith("=") else clean


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
