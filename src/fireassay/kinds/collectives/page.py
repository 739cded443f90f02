"""What is on the page of timed collectives?  A table for each operation, the cost of links, and classes of pairs."""

from __future__ import annotations

from fireassay.kinds.collectives import questions, tables
from fireassay.kinds.collectives.answer import answer as answer
from fireassay.kinds.collectives.answer import brief
from fireassay.reports.charts.links import collective_bandwidth, in_cells, topology
from fireassay.reports.charts.of_view import Draw
from fireassay.reports.page import Section
from fireassay.reports.pages import record
from fireassay.reports.pages.record_sheets import sheets
from fireassay.reports.pages.results import results
from fireassay.reports.view import View


def page(view: View) -> tuple[Section, ...]:
    """The sections of such a record."""
    return (
        record.dimensions(view),
        Section(key="numbers", title="Numbers", content=tables.numbers(view)),
        record.charts(view),
        *record.imported(view),
        record.findings(view),
        record.launches(view, record.TRAINING_COLUMNS),
        *record.environment(view),
        record.conditions(view),
        record.methods(view),
        *brief(view),
        *questions.sections(view),
        *sheets(view, charts=in_cells),
        *results(view),
    )


def charts(_: View) -> tuple[Draw, ...]:
    """The charts of such a record."""
    return (collective_bandwidth, topology)
