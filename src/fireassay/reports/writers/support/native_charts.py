"""How is a chart of courses drawn by Excel itself?

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

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.rounding import decimals_of, rounded, significant
from fireassay.printable import printable
from fireassay.reports.cell import ends
from fireassay.reports.charts.model import REFERENCE, REST, WHOLE, Axis, Chart, Course, Spot
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
MAX_DIGITS: Final = 6  # of the largest number of a column
MAX_DECIMALS: Final = 8
PLAIN_DIGITS: Final = 4  # of a number without an interval
PALETTE: Final = ("#1D5DA6", "#BD5500", "#0D7D6C", "#8B4AA6", "#B07A00", "#6493C8")
NEUTRAL: Final = {REFERENCE: "#6F747A", WHOLE: "#1B1E22", REST: "#A9ADB2"}
MARKERS: Final = ("circle", "square", "triangle", "diamond", "x", "star")
PARTS: Final = ("", ", low", ", high", ", minus", ", plus")  # the last two: the lengths of its error bars


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of a chart's table: names, plain numbers, or values with intervals; `factor` takes a value to the unit in its title.

    `place` is that of its first cell; `minus` and `plus` are the lengths of its intervals, if it has any.
    """

    title: str
    values: tuple[Value | float | str | None, ...]
    factor: float = 1.0
    place: tuple[int, int] = (0, 0)
    minus: tuple[float, ...] = ()
    plus: tuple[float, ...] = ()

    @property
    def estimates(self) -> list[Estimate]:
        """Its values with intervals."""
        return [value for value in self.values if isinstance(value, Estimate)]

    @property
    def known(self) -> list[float]:
        """Its values with the ends of their intervals, in the unit of the record."""
        return [end for value in self.estimates for end in (value.value, value.low, value.high)]

    @property
    def reach(self) -> float:
        """How far away from 0 an end of an interval is drawn; one that lies farther is cut by the edge of the chart."""
        return REACH * max((abs(value.value) for value in self.estimates), default=0.0)

    @property
    def drawn(self) -> list[float]:
        """Every number that its axis holds, in its unit."""
        plain = [float(value) for value in self.values if isinstance(value, int | float)]
        return [*plain, *(end * self.factor for end in self.known if abs(end) <= self.reach)]

    def cells(self, rows: range, beside: int = 0) -> str:
        """The range of some rows, `beside` columns to the right."""
        first, column = self.place[0], self.place[1] + beside
        return f"={SHEET}!{xl_range_abs(first + rows[0], column, first + rows[-1], column)}"


@dataclass(frozen=True, kw_only=True)
class Laid:
    """A chart with its table: `x` is the index of the column below its axis, `of` the column and rows of each course."""

    chart: Chart
    columns: list[Column]
    x: int
    of: list[tuple[Course, int, range]]

    @property
    def shape(self) -> str:
        """Points in a plane, columns side by side, or horizontal bars with names."""
        looks = {course.look for course in self.chart.courses}
        return "columns" if "stacked" in looks else "bars" if "bar" in looks else "plane"


def laid(chart: Chart) -> Laid:
    """The table of a chart: names, x, and a column for each quantity; courses of the same spots share their rows."""
    courses, rows = chart.courses, dict[tuple[tuple[str, float | None], ...], range]()
    spots: list[Spot] = []
    for course in courses:
        if _key(course) not in rows:
            rows[_key(course)] = range(len(spots), len(spots) + len(course.spots))
            spots += course.spots
    columns = [Column(title=chart.stub, values=tuple(spot.name for spot in spots))]
    columns += [Column(title=courses[0].at, values=tuple(spot.x for spot in spots))] if courses[0].at else []
    if any(spot.across is not None for spot in spots):
        across = tuple(spot.across for spot in spots)
        columns.append(Column(title=chart.panels[0].x.title, values=across, factor=courses[0].factor_across))
    first, quantities = len(columns), list(dict.fromkeys(course.quantity for course in courses))
    of = [(course, first + quantities.index(course.quantity), rows[_key(course)]) for course in courses]
    for place, quantity in enumerate(quantities, start=first):
        values: list[Value | float | str | None] = [None] * len(spots)
        some = [(course, where) for course, column, where in of if column == place]
        for course, where in some:
            values[where.start : where.stop] = [spot.y for spot in course.spots]
        columns.append(Column(title=quantity, values=tuple(values), factor=some[0][0].factor))
    return Laid(chart=chart, columns=columns, x=first - 1, of=of)


def _key(course: Course) -> tuple[tuple[str, float | None], ...]:
    return tuple((spot.name, spot.x) for spot in course.spots)


def add(book: Any, styles: Styles, charts: Sequence[Chart], headline: str) -> None:
    """Add the sheet of all charts, each beside its numbers."""
    page = book.add_worksheet(SHEET)
    page.hide_gridlines(2)
    cells.printed_on_one_width(page)
    page.set_column(0, LEFT - 2, 10)
    page.set_column(LEFT - 1, LEFT - 1, 2)
    page.write_string(0, 0, headline[: cells.MAX_TEXT_LENGTH], styles.title)
    row = 2
    for table in map(laid, charts):
        notes = _notes(table)
        drawn = _chart(book, _written(page, styles, row, table, notes))
        words = {"x_offset": 4, "y_offset": 2, "object_position": 2, "description": _literal(table.chart.title)}
        page.insert_chart(row, 0, drawn, words)
        row += max(TALL, len(table.columns[0].values) + len(notes) + 5)


# ---- numbers ---------------------------------------------------------------------------------------------------------


def _written(page: Any, styles: Styles, top: int, table: Laid, below: Sequence[str]) -> Laid:
    """Write title, heads, a row per point and the notes; returns the table with the place of each column."""
    page.write_string(top, LEFT, table.chart.title, styles.title)
    common = max((_decimals(column) for column in table.columns if column.estimates), default=None)
    parts = [_parts(column, common if table.shape == "columns" else None) for column in table.columns]
    starts = list(accumulate((len(columns) for columns in parts), initial=LEFT))
    flat = [(f"{column.title}{PARTS[i]}", of) for column, some in zip(table.columns, parts, strict=True) for i, of in enumerate(some)]
    reasons: list[Cell] = [_reasons(table, place) for place in range(len(table.columns[0].values))]
    if any(reasons):
        flat.append(("Not measured", reasons))
    for column, (title, contents) in enumerate(flat, start=LEFT):
        page.write_string(top + 1, column, title, styles.head)
        page.set_column(column, column, WIDTH if column > LEFT else NAMES)
        for row, content in enumerate(contents, start=top + 2):
            cells.write(page, styles, row, column, content)
    page.set_row(top + 1, cells.height([title for title, _ in flat], [WIDTH] * len(flat)))
    for row, note in enumerate(below, start=top + 3 + len(reasons)):
        page.write_string(row, LEFT, note, styles.quiet)
    placed = [_placed(column, (top + 2, start), some) for column, start, some in zip(table.columns, starts, parts, strict=False)]
    return replace(table, columns=placed)


def _notes(table: Laid) -> tuple[str, ...]:
    """What is said below the table; an interval is never cut silently."""
    drawn = [table.columns[place] for place in {table.x, *(place for _, place, _ in table.of)}]
    cut = any(abs(end) > column.reach and math.isfinite(end) for column in drawn for end in column.known)
    return (*([table.chart.caption] if table.chart.caption else []), *([CUT] if cut else []))


def _parts(column: Column, common: int | None) -> list[list[Cell]]:
    """One column, or five where a value has an interval; `common`: the decimals of all columns."""
    decimals = _decimals(column) if common is None else common
    if not column.estimates:
        return [[_plain(value, decimals) for value in column.values]]
    rows = [_ends(value, column.factor, decimals) for value in column.values]
    return [[row[part] for row in rows] for part in range(len(PARTS))]


def _plain(value: object, decimals: int) -> Cell:
    if isinstance(value, float) and not value.is_integer():
        return Figure(value=value, style=_style(decimals))
    if isinstance(value, str):
        return printable(value)  # XlsxWriter copies it into the chart, unescaped
    return value if isinstance(value, int | float) else None


def _ends(value: object, factor: float, decimals: int) -> list[Cell]:
    """Value, low, high, and the exact lengths of the interval on both sides; no cell where there is no number."""
    if not isinstance(value, Estimate):
        return [None] * len(PARTS)
    low, high = (float(rounded(end * factor, decimals, way)) for end, way in ((value.low, "down"), (value.high, "up")))  # type: ignore[arg-type]
    shown = ends(replace(value, value=value.value * factor, low=low, high=high))
    middle, bottom, top = (replace(cell, style=_style(decimals)) if isinstance(cell, Figure) else cell for cell in shown)
    lengths = (max(0.0, length) * factor for length in (value.value - value.low, value.high - value.value))
    return [middle, bottom, top, *(Figure(value=end, style=_style(decimals)) if math.isfinite(end) else None for end in lengths)]


def _decimals(column: Column) -> int:
    """One number of decimals for the column: as many as its most precise interval supports."""
    plain = [value for value in column.values if isinstance(value, float)]
    of = [(value.value * column.factor, value.low * column.factor, value.high * column.factor) for value in column.estimates]
    decimals = [decimals_of(*ends).value for ends in of]
    decimals += [significant(max(map(abs, plain)), PLAIN_DIGITS)] if plain else []
    largest = max((abs(value) for value, _, _ in of), default=1.0)
    return max(0, min(max(decimals, default=0), significant(largest, MAX_DIGITS), MAX_DECIMALS))


def _style(decimals: int) -> str:
    return f"#,##0{'.' if decimals else ''}{'0' * decimals}"


def _reasons(table: Laid, place: int) -> str:
    values = [(column.title, column.values[place]) for column in table.columns]
    return "; ".join(f"{title}: {value.detail}" for title, value in values if isinstance(value, Absent))


def _placed(column: Column, place: tuple[int, int], parts: list[list[Cell]]) -> Column:
    lengths = [tuple(c.value if isinstance(c, Figure) else 0.0 for c in part) for part in parts[3:]]
    minus, plus = lengths if lengths else ((), ())
    return replace(column, place=place, minus=minus, plus=plus)


# ---- charts ----------------------------------------------------------------------------------------------------------

KINDS: Final = {
    "plane": {"type": "scatter", "subtype": "straight_with_markers"},
    "columns": {"type": "column", "subtype": "stacked"},
    "bars": {"type": "bar"},
}


def _chart(book: Any, table: Laid) -> Any:
    chart, panel = book.add_chart(KINDS[table.shape]), table.chart.panels[0]
    overlay = book.add_chart({"type": "line"}) if table.shape == "columns" else None
    for index, (course, place, rows) in enumerate(table.of):
        onto = overlay if overlay is not None and course.look != "stacked" else chart
        onto.add_series(_series(table, course, table.columns[place], rows, index))
    if overlay is not None and any(course.look != "stacked" for course in table.chart.courses):
        chart.combine(overlay)
    chart.set_title({"name": _literal(table.chart.title), "name_font": {"size": 13}, "overlay": False})
    values_axis, names_axis = _axis(panel.y, _drawn(table)), _axis(panel.x, table.columns[table.x].drawn)
    if table.shape == "bars":  # its categories are the vertical axis, from the top, and its values the horizontal one
        chart.set_x_axis({**values_axis, "label_position": "high"})
        chart.set_y_axis({"reverse": True, "label_position": "low", "major_gridlines": {"visible": False}})
    else:
        chart.set_x_axis({**names_axis, "major_gridlines": {"visible": False}})
        chart.set_y_axis(values_axis)
    chart.set_legend({"position": "bottom"} if len(table.of) > 1 else {"none": True})
    chart.show_blanks_as("gap")
    names = len(table.columns[0].values)
    height = max(SIZE["height"], 120 + BAR * names) if table.shape == "bars" else SIZE["height"]
    chart.set_size({**SIZE, "height": height})
    return chart


def _drawn(table: Laid) -> list[float]:
    """Every number on the axis of values; columns that are stacked count as their sums."""
    stacked = [table.columns[place] for course, place, _ in table.of if course.look == "stacked"]
    alone = [table.columns[place] for course, place, _ in table.of if course.look != "stacked"]
    sums = [sum(value for value in row if isinstance(value, float)) for row in zip(*(column.values for column in stacked), strict=True)]
    return [*sums, *(number for column in alone for number in column.drawn)]


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


def _series(table: Laid, course: Course, own: Column, rows: range, index: int) -> dict[str, Any]:
    colour, beside = NEUTRAL.get(course.colour) or PALETTE[course.colour % len(PALETTE)], table.columns[table.x]
    made: dict[str, Any] = {
        "name": _literal(course.name),
        "categories": beside.cells(rows),
        "values": own.cells(rows),
        **_look(course, colour, index),
    }
    if course.look not in ("stacked", "dashes"):
        made |= {f"{way}_error_bars": _error_bars(column, rows, colour) for way, column in (("y", own), ("x", beside)) if column.minus}
    return made


def _literal(text: str) -> str:
    """A name that XlsxWriter does not take for a formula; without control characters, which XML cannot hold."""
    clean = printable(text)
    return f" {clean}" if clean.startswith("=") else clean


def _look(course: Course, colour: str, index: int) -> dict[str, Any]:
    none = {"none": True}
    if course.look in ("stacked", "bar"):
        fill = {"color": colour} | ({"transparency": 60} if course.look == "bar" else {})
        return {"fill": fill, "border": {"color": "#FFFFFF", "width": 0.75}, "gap": 60}
    mark = {"type": MARKERS[index % len(MARKERS)], "size": 4, "fill": {"color": colour}, "border": {"color": colour}}
    line = {"color": colour, "width": 1.5}
    match course.look:
        case "marks":
            return {"line": none, "marker": mark}
        case "dashes":
            return {"line": line | {"dash_type": "dash"}, "marker": {"type": "none"}}
        case "dotted":
            return {"line": line | {"dash_type": "round_dot"}, "marker": mark | {"fill": {"color": "#FFFFFF"}}}
    return {"line": line, "marker": mark}


def _error_bars(column: Column, rows: range, colour: str) -> dict[str, Any]:
    """Intervals by their cells; the numbers themselves are kept in the file for programs that do not read the cells."""
    return {
        "type": "custom",
        "minus_values": column.cells(rows, 3),
        "plus_values": column.cells(rows, 4),
        "minus_data": [column.minus[row] for row in rows],
        "plus_data": [column.plus[row] for row in rows],
        "line": {"color": colour, "width": 1.5},
    }
