"""How does a page become a spreadsheet?

The answer, native charts beside their numbers, then tables with units in the column heads. Numbers are raw, in the unit of the record;
only Excel formats them. Text is written as text whatever its first character, so that a script called `=cmd()` stays a name. If a page
has sections of role `data`, these are the sheets; else every table, list and set of facts is one.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import polars as pl
import xlsxwriter

from fireassay.estimates.estimate import Estimate
from fireassay.reports.cell import ends
from fireassay.reports.page import Answer, Block, Bullets, Cell, Chart, Facts, Number, Page, Prose, Raw, Section, Table, heads, said
from fireassay.reports.writers.support import cells, native_charts
from fireassay.reports.writers.support.cells import MAX_TEXT_LENGTH, Styles
from fireassay.reports.writers.writer import Writer

MAX_NAME_LENGTH: Final = 31  # characters of a sheet's name, Excel's limit
NO_DATE: Final = datetime(2026, 1, 1)


def write(page: Page) -> bytes:
    """Render the page as a workbook. Equal pages give equal numbers; the creation time is the page's."""
    buffer = io.BytesIO()
    options = {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    with xlsxwriter.Workbook(buffer, options) as book:
        title = f"{page.title}: {page.mark.word.upper()}" if page.mark else page.title
        book.set_properties({"title": title, "created": _created(page.properties.get("created", ""))})
        styles = Styles(book)
        charts = [block for section in _shown(page) for block in section.blocks if isinstance(block, Chart) and block.courses]
        for place, (name, sheet) in enumerate(sheets(page)):
            _write(book, styles, name, sheet)
            if place == 0 and charts:
                native_charts.add(book, styles, charts, title)
    return buffer.getvalue()


def _created(text: str) -> datetime:
    """The page's time for Excel; a fixed day if it has none."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC).replace(tzinfo=None)
    except ValueError:
        return NO_DATE


# ---- sheets ----------------------------------------------------------------------------------------------------------


def _shown(page: Page) -> tuple[Section, ...]:
    """The sections of a workbook."""
    return page.of_role("data") or page.of_depth("front", "detail", "appendix")


def sheets(page: Page) -> list[tuple[str, Table | Raw]]:
    """Every sheet with its name, that of the charts apart, whose name is kept for it."""
    named = [
        *((_answer(page, page.answer),) if page.answer is not None else ()),
        *((_front(page),) if not page.of_role("data") else ()),
        *(sheet for section in _shown(page) for sheet in _of(section)),
    ]
    names = sheet_names([native_charts.SHEET, *(name for name, _ in named)])[1:]
    return list(zip(names, (sheet for _, sheet in named), strict=True))


def _answer(page: Page, answer: Answer) -> tuple[str, Table]:
    """The first sheet: status and advice, evidence, a line per dimension, what to do next."""
    rows: list[tuple[Cell, ...]] = [("Answer", answer.mark, f"{page.title}: {answer.headline}" if page.title else answer.headline)]
    rows += [("Evidence", None, answer.evidence)] if answer.evidence else []
    rows += [(line.label.capitalize(), line.mark, line.text) for line in answer.lines]
    rows += [("Next", None, ": ".join(part for part in (step.reason.rstrip(".:"), step.command) if part)) for step in answer.next]
    rows += [(answer.source.capitalize(), None, answer.record)] if answer.record else []
    return "Answer", Table(name="answer", heads=heads("What", "Status", "Sentence"), rows=tuple(rows))


def _front(page: Page) -> tuple[str, Table]:
    """The sheet of text outside of tables: the verdict and every sentence."""
    rows: list[tuple[Cell, ...]] = [("Page", page.title)]
    rows += [("Verdict", page.mark)] if page.mark else []
    prose = (block.text for section in page.of_depth("front") for block in section.blocks if isinstance(block, Prose))
    rows += [("", text) for text in (page.lead, *page.about, *prose, *page.footer) if text]
    return "Verdict", Table(name="verdict", heads=heads("What", "Sentence"), rows=tuple(rows))


def _of(section: Section) -> Iterator[tuple[str, Table | Raw]]:
    for block in section.blocks:
        sheet = _sheet(block, of_data=section.role == "data")
        if sheet is not None:
            yield getattr(block, "title", "") or section.title, sheet


def _sheet(block: Block, *, of_data: bool) -> Table | Raw | None:
    match block:
        case Raw():
            return block
        case Table():
            return block if of_data else _widened(block)
        case Facts():
            return Table(name="facts", heads=heads("What", "Value"), rows=block.rows)
        case Bullets() if block.items:
            rows = tuple(
                (item.mark, item.title, where, text, item.todo)
                for item in block.items
                for where, text in ((item.where, item.text), *item.more)
            )
            return Table(name="list", heads=heads("Status", "Subject", "Where", "Text", "To do"), rows=rows)
    return None


def _widened(table: Table) -> Table:
    """Expand every number column into value, low, high and unit; a common unit goes into the head."""
    names: list[str] = []
    columns: list[list[Cell]] = []
    rows = [(*row, *(row[-1:] * (len(table.heads) - len(row)))) for row in table.rows]
    for index, head in enumerate(table.heads):
        cells = [row[index] for row in rows]
        units = {cell.value.unit for cell in cells if isinstance(cell, Number) and isinstance(cell.value, Estimate)}
        if not units:
            names.append(head.full)
            columns.append([_plain(cell) for cell in cells])
            continue
        unit = f" ({next(iter(units))})" if len(units) == 1 else ""
        names += [f"{head.full}{unit}", f"{head.full}, low{unit}", f"{head.full}, high{unit}", *([] if unit else [f"{head.full}, unit"])]
        triples = [
            ends(cell.value) if isinstance(cell, Number) and isinstance(cell.value, Estimate) else [_plain(cell), None, None]
            for cell in cells
        ]
        columns += [[triple[part] for triple in triples] for part in range(3)]
        columns += (
            [] if unit else [[cell.value.unit if isinstance(cell, Number) and isinstance(cell.value, Estimate) else None for cell in cells]]
        )
    return Table(name=table.name, heads=heads(*names), rows=tuple(zip(*columns, strict=True)))


def _plain(cell: Cell) -> Cell:
    if isinstance(cell, Number):
        return cell.shown.text
    words = said(cell)
    return f"{words.text} {words.below}".strip() if cell is not None and words is cell else cell


def sheet_names(texts: Sequence[str]) -> list[str]:
    """Valid Excel names: at most 31 characters, none of []:*?/\\, no apostrophe at either end, unique regardless of case."""
    taken: set[str] = set()
    names = []
    for text in texts:
        clean = "".join("-" if letter in "[]:*?/\\" or not letter.isprintable() else letter for letter in text)
        endings = ("", *(f" {number}" for number in range(2, len(texts) + 2)))
        shortened = (f"{clean[: MAX_NAME_LENGTH - len(ending)].strip(chr(39))}{ending}" for ending in endings)
        name = next(name for name in shortened if name.casefold() not in taken)
        taken.add(name.casefold())
        names.append(name)
    return names


# ---- writing ---------------------------------------------------------------------------------------------------------


def _write(book: Any, styles: Styles, name: str, sheet: Table | Raw) -> None:
    page = book.add_worksheet(name)
    titles = sheet.heads if isinstance(sheet, Raw) else tuple(head.full for head in sheet.heads)
    widths = [cells.width(title, (row[column] for row in sheet.rows)) for column, title in enumerate(titles)]
    for column, (title, width) in enumerate(zip(titles, widths, strict=True)):
        page.write_string(0, column, title, styles.head)
        page.set_column(column, column, width)
    page.set_row(0, cells.height(titles, widths))
    height = _write_frame(page, sheet.frame) if isinstance(sheet, Raw) else 0
    for row_index, row in enumerate(sheet.rows, start=1 + height):
        page.set_row(row_index, cells.height(row, widths))
        for column, content in enumerate(row):
            cells.write(page, styles, row_index, column, content)
    cells.printed_on_one_width(page)
    page.freeze_panes(1, 0 if isinstance(sheet, Raw) else sheet.stub)
    if height + len(sheet.rows):
        page.autofilter(0, 0, height + len(sheet.rows), len(titles) - 1)


def _write_frame(page: Any, frame: pl.DataFrame) -> int:
    """Write a frame by column, without per-cell formats, because it may have many rows. Returns the number of rows."""
    for column, series in enumerate(frame):
        texts = series.dtype == pl.String
        write = page.write_string if texts else page.write_number
        for row_index, content in enumerate(series.str.slice(0, MAX_TEXT_LENGTH) if texts else series, start=1):
            if content is not None:
                write(row_index, column, content)
    return frame.height


WRITER = Writer(name="excel", suffix=".xlsx", summary="a workbook of real numbers with their units, and native charts", write=write)
