"""What is on the page of a training?  Its dimensions, the layers of correctness, primary numbers, gates and charts."""

from __future__ import annotations

from typing import Final

from fireassay.kinds.training import questions
from fireassay.kinds.training.answer import answer as answer
from fireassay.kinds.training.answer import brief
from fireassay.metrics.cost import COST
from fireassay.reports.charts import scaling, steps
from fireassay.reports.charts.faults import faults
from fireassay.reports.charts.launches import launch_order, launch_timeline
from fireassay.reports.charts.model import Charts
from fireassay.reports.charts.of_view import Draw, over_workers
from fireassay.reports.charts.quality import quality
from fireassay.reports.charts.ranks import ranks, step_timeline
from fireassay.reports.charts.trade_offs import cost_time
from fireassay.reports.page import Section
from fireassay.reports.pages import record
from fireassay.reports.pages.record_sheets import sheets
from fireassay.reports.pages.results import results
from fireassay.reports.view import View

CHARTS: Final[tuple[Draw, ...]] = (
    *(scaling.speedup, scaling.communication_model, steps.phases, ranks, step_timeline),
    *(quality, cost_time, steps.paid_time, faults, launch_timeline, launch_order),
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
        *sheets(view, charts=in_cells),
        *results(view),
    )


def charts(view: View) -> tuple[Draw, ...]:
    """Only the chart of the profile if all launches are profiled, since the others need timed ones."""
    if view.launches and all(launch.role == "profile" for launch in view.launches):
        return (steps.profile,)
    return (steps.profile, *CHARTS) if view.profiles else CHARTS


def in_cells(view: View) -> Charts:
    """The charts of the workbook: speedup, efficiency with its gate, the parts of a step, cost."""
    return (*scaling.in_cells(view), *steps.phases_in_cells(view), *over_workers(view, COST.name, "Cost of a run", {}))
