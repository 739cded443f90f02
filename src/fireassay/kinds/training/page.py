"""What is on the page of a training?  Its dimensions, the layers of correctness, primary numbers, gates and charts."""

from __future__ import annotations

from typing import Final

from fireassay.kinds.training import questions
from fireassay.kinds.training.answer import answer as answer
from fireassay.kinds.training.answer import brief
from fireassay.kinds.training.sheets import graphs
from fireassay.reports.charts import cost_time, launch_order, launch_timeline, quality
from fireassay.reports.charts.record_charts import Charts, charts_of
from fireassay.reports.charts.training import communication_model, fault, phases, profile, rank_time, ranks, speedup, step_timeline
from fireassay.reports.page import Section
from fireassay.reports.pages import record
from fireassay.reports.pages.record_sheets import sheets
from fireassay.reports.pages.results import results
from fireassay.reports.view import View

CHARTS: Final[Charts] = charts_of(
    speedup, communication_model, phases, ranks, step_timeline, quality, cost_time, rank_time, fault, launch_timeline, launch_order
)


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
        *brief(view),
        *questions.sections(view),
        *sheets(view, graphs=graphs),
        *results(view),
    )


def charts(view: View) -> Charts:
    """Only the chart of the profile if all launches are profiled, since the others need timed ones."""
    if view.launches and all(launch.role == "profile" for launch in view.launches):
        return charts_of(profile)
    return (*charts_of(profile), *CHARTS) if view.profiles else CHARTS
