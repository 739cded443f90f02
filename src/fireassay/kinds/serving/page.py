"""What is on the page of a load?  Engines beside each other at every load, what lies behind the numbers, and every request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from fireassay.kinds.serving import sheets as excel_serving
from fireassay.reports import load_tables
from fireassay.reports.charts import quality
from fireassay.reports.charts.record_charts import Charts
from fireassay.reports.charts.serving import curve, goodput, panel, percentiles, timeline
from fireassay.reports.page import Bullet, Cell, Prose, Section
from fireassay.reports.pages import record
from fireassay.reports.pages.record_sheets import sheets
from fireassay.reports.pages.results import results
from fireassay.reports.view import LaunchRow, View
from fireassay.verdict.types import DIMENSIONS

COLUMNS: Final[tuple[tuple[str, Callable[[LaunchRow], Cell]], ...]] = (
    ("Requests due", lambda row: f"{row.due:,}"),
    ("Answered", lambda row: f"{row.answered:,}"),
    ("Failed", lambda row: f"{row.due - row.answered:,}"),
)


CHARTS: Final[Charts] = (
    ("load-curve", curve.draw),
    ("load-goodput", goodput.draw),
    ("load-percentiles", percentiles.draw),
    ("load-timeline", timeline.draw),
    ("load-panel", panel.draw),
    ("quality", lambda view: quality.draw(view) if view.quality_metric else ()),
)


def page(view: View) -> tuple[Section, ...]:
    """The sections of a load."""
    return (
        record.dimensions(view, _reasons(view)),
        record.recommendation(view),
        record.gates(view),
        _numbers(view),
        *_details(view),
        record.charts(view),
        *record.imported(view),
        record.findings(view),
        *record.metrics(view),
        record.launches(view, COLUMNS),
        *record.environment(view),
        record.conditions(view),
        record.methods(view),
        *sheets(view, excel_serving.sheets(view), excel_serving.launches),
        *results(view),
    )


def _numbers(view: View) -> Section:
    tables = load_tables.numbers(view)
    capacity = (Prose(text=sentence, weight="lead") for sentence in load_tables.capacity(view))
    return Section(key="numbers", title="Numbers", content=(*record.titled(tables), *capacity))


def _details(view: View) -> tuple[Section, ...]:
    tables = load_tables.details(view)
    return (Section(key="behind", title="Behind the numbers", content=tables),) if tables else ()


def _reasons(view: View) -> tuple[Bullet, ...]:
    """All that did not pass, the same status of a dimension once; of sentences that differ the first stands as an example."""
    groups: dict[tuple[str, str, str], dict[str, list[str]]] = {}
    for row in view.vector:
        for dimension in DIMENSIONS:
            if (cell := row.cells[dimension]).status != "PASS":
                groups.setdefault((dimension, cell.status, cell.word), {}).setdefault(cell.sentence, []).append(row.column.key)
    return tuple(
        record.reason(view, dimension, status, word, _example(view, sentences), [key for keys in sentences.values() for key in keys])
        for (dimension, status, word), sentences in groups.items()
    )


def _example(view: View, sentences: dict[str, list[str]]) -> str:
    sentence, keys = next(iter(sentences.items()))
    return sentence if len(sentences) == 1 else f"for example at {view.label(keys[0])}: {sentence}"


def charts(_: View) -> Charts:
    """The charts of such a record."""
    return CHARTS
