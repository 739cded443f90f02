"""What is on the page of a timing?  The time, what it rests on, and what the audits found."""

from __future__ import annotations

from fireassay.reports.charts.record_charts import of_launches
from fireassay.reports.page import Section
from fireassay.reports.pages import record
from fireassay.reports.pages.record_sheets import sheets
from fireassay.reports.pages.results import results
from fireassay.reports.view import View


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
