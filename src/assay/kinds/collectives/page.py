"""What is on the page of timed collectives?  A table for each operation, what a link costs, and who is near whom."""

from __future__ import annotations

from assay.reports import collective_tables
from assay.reports.page import Section
from assay.reports.pages import record
from assay.reports.pages.record_sheets import sheets
from assay.reports.pages.results import results
from assay.reports.view import View


def page(view: View) -> tuple[Section, ...]:
    """The sections of such a record."""
    return (
        record.dimensions(view),
        Section(key="numbers", title="Numbers", content=collective_tables.numbers(view)),
        record.charts(view),
        *record.imported(view),
        record.findings(view),
        record.launches(view, record.TRAINING_COLUMNS),
        *record.environment(view),
        record.conditions(view),
        record.methods(view),
        *sheets(view),
        *results(view),
    )
