"""What is on the page of a training?  Its dimensions, the layers of correctness, primary numbers, gates and charts."""

from __future__ import annotations

from fireassay.reports.charts.record_charts import of_launches
from fireassay.reports.page import Section
from fireassay.reports.pages import record
from fireassay.reports.pages.record_sheets import sheets
from fireassay.reports.pages.results import results
from fireassay.reports.view import View


def page(view: View) -> tuple[Section, ...]:
    """The sections of a training."""
    return (
        record.dimensions(view),
        *record.layers(view),
        record.recommendation(view),
        record.gates(view),
        record.numbers(view),
        record.charts(view),
        *record.profile(view),
        record.findings(view),
        *record.metrics(view),
        record.launches(view, record.TRAINING_COLUMNS),
        *record.environment(view),
        record.conditions(view),
        record.methods(view),
        *sheets(view),
        *results(view),
    )


charts = of_launches
