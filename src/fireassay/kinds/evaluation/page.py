"""What is on the page of an evaluation?  The decision, the scores, the findings, and how it was done."""

from __future__ import annotations

from fireassay.kinds.evaluation.answer import answer as answer
from fireassay.kinds.evaluation.answer import brief
from fireassay.reports.charts.record_charts import Charts
from fireassay.reports.page import Section
from fireassay.reports.pages import record
from fireassay.reports.pages.record_sheets import sheets
from fireassay.reports.pages.results import results
from fireassay.reports.view import View


def page(view: View) -> tuple[Section, ...]:
    """The sections of an evaluation."""
    return (
        record.dimensions(view),
        record.gates(view),
        record.numbers(view, opens=True),
        record.findings(view),
        record.launches(view),
        *record.environment(view),
        record.conditions(view),
        record.methods(view),
        *brief(view),
        *sheets(view),
        *results(view),
    )


def charts(_: View) -> Charts:
    """None yet."""
    return ()
