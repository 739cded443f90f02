"""What is on the page of a network probe?  A line for each host, and one for each interface that leads there."""

from __future__ import annotations

from fireassay.kinds.network import tables
from fireassay.kinds.network.answer import answer as answer
from fireassay.kinds.network.answer import brief
from fireassay.reports.charts.of_view import Draw
from fireassay.reports.page import Section, Table
from fireassay.reports.pages import record
from fireassay.reports.pages.record_sheets import sheets
from fireassay.reports.pages.results import results
from fireassay.reports.view import View


def page(view: View) -> tuple[Section, ...]:
    """The sections of such a record."""
    return (
        record.dimensions(view),
        Section(key="numbers", title="Numbers", content=_numbers(view)),
        record.charts(view),
        *record.imported(view),
        record.findings(view),
        record.launches(view, record.TRAINING_COLUMNS),
        *record.environment(view),
        record.conditions(view),
        record.methods(view),
        *brief(view),
        *sheets(view),
        *results(view),
    )


def _numbers(view: View) -> tuple[Table, ...]:
    values = {row.name: {key: shown.value for key, shown in row.cells.items()} for row in view.metrics}
    return () if view.network is None else tables.tables(view.network, values)


def charts(_: View) -> tuple[Draw, ...]:
    """None: the tables say it all."""
    return ()
