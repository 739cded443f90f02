"""What is on the page of an evaluation?  The decision, the scores, the findings, and how it was done."""

from __future__ import annotations

from typing import Final

from fireassay.kinds.evaluation import confidence, questions, tables
from fireassay.kinds.evaluation import sheets as of_evaluation
from fireassay.kinds.evaluation.answer import answer as answer
from fireassay.kinds.evaluation.answer import brief
from fireassay.kinds.evaluation.paper import PAPER
from fireassay.reports.charts.evaluation import power, reliability
from fireassay.reports.charts.of_view import Draw
from fireassay.reports.charts.trade_offs import quality_price
from fireassay.reports.page import Section
from fireassay.reports.pages import record
from fireassay.reports.pages.record_sheets import sheets
from fireassay.reports.pages.results import results
from fireassay.reports.view import View

COLUMNS: Final = record.TRAINING_COLUMNS


def page(view: View) -> tuple[Section, ...]:
    """The sections of an evaluation."""
    return (
        record.dimensions(view),
        record.gates(view),
        Section(key="scores", title="Scores", content=tables.scores(view)),
        Section(key="held", title="Held or not", content=lambda: tuple(tables.forest(view))),
        Section(key="divergence", title="Token by token", content=lambda: tables.divergence(view)),
        Section(key="groups", title="Subgroups", content=lambda: tables.groups(view)),
        *confidence.sections(view),
        Section(key="outcomes", title="Outcomes", content=lambda: tables.outcomes(view), depth="detail"),
        Section(key="flips", title="Items that changed", content=lambda: tables.flips(view)),
        record.charts(view),
        record.numbers(view, opens=True),
        record.findings(view),
        *record.imported(view),
        record.launches(view),
        *record.environment(view),
        record.conditions(view),
        record.methods(view),
        *brief(view),
        *questions.sections(view, COLUMNS),
        *sheets(view, of_evaluation.sheets(view)),
        *results(view, PAPER),
    )


def charts(view: View) -> tuple[Draw, ...]:
    """Those of which something was measured."""
    rows = tables.of(view)
    return (*((power,) if rows.power else ()), *((reliability,) if rows.calibration else ()), quality_price)
