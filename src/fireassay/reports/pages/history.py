"""What does the page of a history show?

A chart and a table per series: record, date, value, level and change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from fireassay.estimates.format import count, show
from fireassay.reports.charts.comparison import history_chart
from fireassay.reports.page import Cell, Number, Page, Section, Table, heads
from fireassay.verdict.checking.history import History, rates
from fireassay.verdict.checking.kept import Trend


def page(histories: Sequence[History], title: str, named: Callable[[str], Cell] = str) -> Page:
    """The page of some series; `named` makes the cell of a record's label, such as a link to its page."""
    if not histories:
        return Page(title=title, sections=(), lead="no series: no comparable record holds a value")
    sections = tuple(_section(index, history, named) for index, history in enumerate(histories))
    return Page(title=title, sections=sections, footer=(f"{rates(histories)}.",))


def kept(trend: Trend) -> Page:
    """The page of what gates kept."""
    return replace(page(trend.histories, "History of gates"), about=trend.notes)


def _section(index: int, history: History, named: Callable[[str], Cell]) -> Section:
    chart = history_chart(history, f"history-{index}")
    table = Table(
        name=f"records-{index}", heads=heads("Date (UTC)", "Record", "Value", "Change"), rows=tuple(_rows(history, named)), inline=True
    )
    return Section(key=f"series-{index}", title=head(history), content=(chart, table))


def _rows(history: History, named: Callable[[str], Cell]) -> Iterator[tuple[Cell, ...]]:
    """Date, record, value, and the event at this record."""
    marks = dict.fromkeys(history.outliers, "outlier: far off its level, not part of it")
    marks |= {change.index: history.moved(change) for change in history.changes}
    for index, point in enumerate(history.points):
        date = point.created_utc[:19].replace("T", " ")
        yield (date, named(point.label), Number(shown=show(point.value)), marks.get(index, ""))


def head(history: History) -> str:
    """A one-line summary of the series."""
    size = len(history.points)
    summary = "; ".join(f"{history.moved(c)} at record {c.index + 1} of {size}{history.span(c)}" for c in history.certain) or (
        "no certain change" if history.p_adjusted is not None else f"{count(size, 'records')} are too few to test for changes"
    )
    return f"{history.title} at {history.configuration}: {summary}"
