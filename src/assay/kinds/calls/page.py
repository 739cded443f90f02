"""What is on the page of a timing?  The time, what it rests on, and what the audits found."""

from __future__ import annotations

from assay.reports.charts.record_charts import of_launches
from assay.reports.page import Section
from assay.reports.pages import record
from assay.reports.pages.record_sheets import sheets
from assay.reports.pages.results import results
from assay.reports.view import View


def page(view: View) -> tuple[Section, ...]:
    """The sections of a timing."""
    return (
        record.numbers(view, opens=True),
        Section(key="rest", title="What they rest on", content=(record.facts(view.timing),)),
        record.findings(view),
        record.launches(view),
        *record.environment(view),
        record.conditions(view),
        record.methods(view),
        *sheets(view),
        *results(view),
    )


charts = of_launches
