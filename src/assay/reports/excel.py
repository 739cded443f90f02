"""How does a verdict get into a spreadsheet?  As a workbook of real numbers, with the unit in the head of the column.

Numbers are raw, in the unit of the record, and only formatted by Excel; nothing is rounded.  An end of an interval is shown with as
many decimals as Excel needs to show it outwards.  Text from the record is
written as text whatever it begins with, so that a script called `=cmd()` stays a name.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import polars as pl
import xlsxwriter

from assay.estimates.estimate import Absent, Estimate
from assay.estimates.rounding import Way, rounded
from assay.metrics.base import ALL
from assay.reports import excel_serving
from assay.reports.base import Report
from assay.reports.sheets import GENERAL, Content, Figure, Mark, Sheet
from assay.reports.view import DIMENSION_TITLES, Column, MetricRow, View
from assay.verdict.types import DIMENSIONS

NUMBER_FORMATS: Final = {
    "fraction": "0.0000%",
    "count": "#,##0",
    "steps": "#,##0",
    "workers": "#,##0",
    "s": "0.000000",
    "1/s": "#,##0.00",
    "ratio": "0.0000",
    "score": "0.0000",
    "USD": "$0.000000",
    "USD/item": "$0.00000E+00",
    "USD/step": "$0.00000E+00",
    "items/USD": "#,##0",
    "J": "#,##0.00",
    "J/item": "0.00000E+00",
}
LONGEST_TEXT: Final = 32_767  # what a cell can hold
WIDEST: Final = 60  # characters of a column
WAYS: Final[tuple[Way, ...]] = ("nearest", "down", "up")  # value, low, high
MORE_DECIMALS: Final = 15  # what a binary fraction has beyond a format's own
STATUS_COLOURS: Final = {"PASS": "#E0F3E8", "FAIL": "#FDE6E3", "INVALID": "#FDE6E3", "INCONCLUSIVE": "#FFF0CC", "NOT_MEASURED": "#E9ECEF"}


def render(view: View) -> bytes:
    """The workbook. The same view gives the same numbers; its creation time is that of the record."""
    buffer = io.BytesIO()
    options = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    with xlsxwriter.Workbook(buffer, options) as book:
        book.set_properties({"title": f"{view.name}: {view.word}", "created": _created(view.created)})
        styles = _Styles(book)
        for sheet in sheets(view):
            _write(book, styles, sheet)
    return buffer.getvalue()


def _created(text: str) -> datetime:
    """The record's time as Excel wants it; a fixed day where the record has none."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC).replace(tzinfo=None)
    except ValueError:
        return datetime(2026, 1, 1)


def sheets(view: View) -> tuple[Sheet, ...]:
    """All sheets of a view."""
    return (
        _verdict(view),
        _numbers(view),
        *excel_serving.sheets(view),
        _metrics(view),
        _gates(view),
        _findings(view),
        _launches(view),
        _environment(view),
        _conditions(view),
    )


def _verdict(view: View) -> Sheet:
    rows: list[tuple[Content, ...]] = [
        ("Verdict", "", Mark(status=view.status, word=view.word), view.sentence),
        ("Record", "", view.state, f"{view.record}, {view.seal_words}"),
    ]
    for row in view.vector:
        for dimension in DIMENSIONS:
            cell = row.cells[dimension]
            mark = Mark(status=cell.status, word=cell.word)
            rows.append((DIMENSION_TITLES[dimension], row.column.label, mark, cell.sentence))
    rows += [(f"Recommendation: {pick.goal}", pick.label, "", pick.sentence) for pick in view.recommendations]
    return Sheet(name="Verdict", head=("What", "Configuration", "Status", "Sentence"), rows=tuple(rows))


def _workers(view: View) -> str:
    """What a configuration has several of."""
    return "Workers" if view.serving is None else "Replicas"


def _numbers(view: View) -> Sheet:
    """One row per configuration, three columns per primary metric: made for charts."""
    rows = tuple(row for row in view.primary if set(row.cells) != {ALL})
    head = ["Configuration", _workers(view)]
    for row in rows:
        head += [f"{row.title} ({row.unit})", f"{row.title}, low ({row.unit})", f"{row.title}, high ({row.unit})"]
    body = tuple(_number_row(column, rows) for column in view.columns)
    return Sheet(name="Numbers", head=tuple(head), rows=body)


def _number_row(column: Column, rows: tuple[MetricRow, ...]) -> tuple[Content, ...]:
    cells: list[Content] = [column.label, column.workers]
    for row in rows:
        shown = row.cells.get(column.key)
        value = shown.value if shown is not None else None
        cells += _ends(value) if isinstance(value, Estimate) else [shown.text if shown is not None else None, None, None]
    return tuple(cells)


def _ends(value: Estimate) -> list[Content]:
    style = NUMBER_FORMATS.get(value.unit, GENERAL)
    one = value.n_launches <= 1
    words = ("no bound", *(("no interval: one launch",) * 2 if one else ("no lower bound", "no upper bound")))
    return [
        Figure(value=end, style=_outwards(style, end, way)) if math.isfinite(end) else word
        for end, word, way in zip((value.value, value.low, value.high), words, WAYS, strict=True)
    ]


def _outwards(style: str, end: float, way: Way) -> str:
    """The format with so many more decimals that Excel, which rounds to the nearest, shows a low end no higher and a high one no lower."""
    mantissa, exponent, power = style.partition("E")
    if way == "nearest" or style == GENERAL:
        return style
    whole, point, decimals = mantissa.rstrip("%").partition(".")
    size = math.floor(math.log10(abs(end))) if exponent and end else 0
    place = len(decimals) + (2 if mantissa.endswith("%") else 0) - size
    more = next((d for d in range(MORE_DECIMALS) if rounded(end, place + d) == rounded(end, place + d, way)), 0)
    point = point or ("." if more else "")
    return f"{whole}{point}{decimals}{'0' * more}{'%' if mantissa.endswith('%') else ''}{exponent}{power}"


def _metrics(view: View) -> Sheet:
    workers = {column.key: column.workers for column in view.columns}
    head = (
        "Metric",
        "Title",
        "Dimension",
        "Configuration",
        _workers(view),
        "Value (in Unit)",
        "Low (in Unit)",
        "High (in Unit)",
        "Unit",
        "Confidence",
        "Launches",
        "Trials",
        "Method or reason",
        "Signature",
    )
    rows: list[tuple[Content, ...]] = []
    for row in view.metrics:
        for key, shown in row.cells.items():
            start = (row.name, row.title, row.dimension, view.label(key), workers.get(key))
            value = shown.value
            if isinstance(value, Absent):
                rows.append((*start, None, None, None, row.unit, None, None, None, f"{shown.text}: {value.detail}", ""))
                continue
            confidence = Figure(value=value.confidence, style="0.0%")
            made = (confidence, value.n_launches, value.n_trials, value.method, value.signature)
            rows.append((*start, *_ends(value), row.unit, *made))
    return Sheet(name="Metrics", head=head, rows=tuple(rows))


def _gates(view: View) -> Sheet:
    rows = tuple((g.gate, g.label, Mark(status=g.status, word=g.word), g.sentence) for g in view.gates)
    return Sheet(name="Gates", head=("Gate", "Configuration", "Status", "Evidence"), rows=rows)


def _findings(view: View) -> Sheet:
    rows = tuple((f.severity, f.rule, f.where, f.evidence, f.remedy) for f in view.findings)
    return Sheet(name="Findings", head=("Severity", "Rule", "Where", "Evidence", "To do"), rows=rows)


def _launches(view: View) -> Sheet:
    if view.serving is not None:
        return excel_serving.launches(view)
    head = (
        "Launch",
        "Configuration",
        "Workers",
        "Block",
        "Place",
        "Attempt",
        "Role",
        "Seed",
        "Begin (UTC)",
        "Status",
        "Reason",
        "Exit code",
        "Restarts",
        "Wall (s)",
        "Steps",
        "Warm-up (steps)",
        "Median step (s)",
    )
    rows = tuple(
        (
            r.number,
            r.label,
            r.workers,
            r.block,
            r.order,
            r.attempt,
            r.role,
            str(r.seed),
            r.begin_utc,
            r.status,
            r.reason,
            r.exit_code,
            r.restarts,
            Figure(value=r.wall_s, style="0.000"),
            r.steps,
            r.warmup,
            None if r.step_s is None else Figure(value=r.step_s, style="0.000000"),
        )
        for r in view.launches
    )
    return Sheet(name="Launches", head=head, rows=rows)


def _environment(view: View) -> Sheet:
    rows = tuple(
        (group.name, row.key, row.before, row.after, "changed" if row.changed else "") for group in view.environment for row in group.rows
    )
    return Sheet(name="Environment", head=("Group", "Fact", "Before", "After", "Changed"), rows=rows)


def _conditions(view: View) -> Sheet:
    what = "Instrument's own cost" if view.serving is None else "Client"
    overhead = tuple((f"{what}, {label}", shown.full) for label, shown in view.overhead)
    return Sheet(
        name="Conditions", head=("What", "Value"), rows=(*((fact.name, fact.text) for fact in (*view.conditions, *view.foreign)), *overhead)
    )


# ------------------------------------------------------------------------------------------------------------- writing


class _Styles:
    """Excel formats, each made once per workbook."""

    def __init__(self, book: Any) -> None:
        self._book = book
        self._made: dict[str, Any] = {}
        self.head = book.add_format({"bold": True, "bottom": 1, "text_wrap": True, "valign": "top"})
        self.text = book.add_format({"text_wrap": True, "valign": "top"})

    def number(self, style: str) -> Any:
        """A number format."""
        return self._get(style, {"num_format": style, "valign": "top"})

    def status(self, status: str) -> Any:
        """A status colour."""
        return self._get(status, {"bold": True, "bg_color": STATUS_COLOURS[status], "valign": "top"})

    def _get(self, key: str, properties: dict[str, object]) -> Any:
        if key not in self._made:
            self._made[key] = self._book.add_format(properties)
        return self._made[key]


def _write(book: Any, styles: _Styles, sheet: Sheet) -> None:
    page = book.add_worksheet(sheet.name)
    for column, title in enumerate(sheet.head):
        page.write_string(0, column, title, styles.head)
        page.set_column(column, column, _width([title, *(row[column] for row in sheet.rows)]))
    height = 0 if sheet.frame is None else _write_frame(page, sheet.frame)
    for place, row in enumerate(sheet.rows, start=1 + height):
        for column, content in enumerate(row):
            _write_cell(page, styles, place, column, content)
    page.freeze_panes(1, 0)
    if height + len(sheet.rows):
        page.autofilter(0, 0, height + len(sheet.rows), len(sheet.head) - 1)


def _write_frame(page: Any, frame: pl.DataFrame) -> int:
    """Column by column and without a format of each cell: of many rows every look counts. Gives the number of rows."""
    for column, series in enumerate(frame):
        texts = series.dtype == pl.String
        write = page.write_string if texts else page.write_number
        for place, content in enumerate(series.str.slice(0, LONGEST_TEXT) if texts else series, start=1):
            if content is not None:
                write(place, column, content)
    return frame.height


def _write_cell(page: Any, styles: _Styles, row: int, column: int, content: Content) -> None:
    if content is None:
        return
    if isinstance(content, Figure) and not math.isfinite(content.value):
        page.write_string(row, column, "no bound" if math.isinf(content.value) else "not a number", styles.text)
    elif isinstance(content, Figure):
        page.write_number(row, column, content.value, styles.number(content.style))
    elif isinstance(content, Mark):
        page.write_string(row, column, content.word, styles.status(content.status))
    elif isinstance(content, str):
        page.write_string(row, column, content[:LONGEST_TEXT], styles.text)
    else:
        page.write_number(row, column, content, styles.number(GENERAL))


def _width(contents: Iterable[Content] | Sequence[Content]) -> float:
    """Wide enough for most of a column, never wider than can be read."""
    lengths = [len(c) if isinstance(c, str) else len(c.word) if isinstance(c, Mark) else 12 for c in contents if c is not None]
    return float(min(WIDEST, max(lengths, default=8) + 2))


REPORT = Report(name="excel", suffix=".xlsx", summary="a workbook of real numbers with their units", render=render, binary=True)
