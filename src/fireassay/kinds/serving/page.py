"""What is on the page of a load?  Engines side by side at every load, details behind the numbers, and every request."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from fireassay.kinds.serving import a_or_b, questions, tables
from fireassay.kinds.serving import answer as of_load
from fireassay.kinds.serving import sheets as load_sheets
from fireassay.kinds.serving.brief import brief
from fireassay.reports.charts import loads
from fireassay.reports.charts.load_timeline import load_timeline
from fireassay.reports.charts.of_view import Draw
from fireassay.reports.charts.percentiles import percentiles
from fireassay.reports.charts.quality import quality
from fireassay.reports.page import Answer, Bullet, Cell, Prose, Section
from fireassay.reports.pages import record
from fireassay.reports.pages.record_sheets import sheets
from fireassay.reports.pages.results import Paper, facts, results, sentence
from fireassay.reports.view import LaunchRow, View
from fireassay.verdict.types import DIMENSIONS

COLUMNS: Final[tuple[tuple[str, Callable[[LaunchRow], Cell]], ...]] = (
    ("Requests due", lambda row: f"{row.due:,}"),
    ("Answered", lambda row: f"{row.answered:,}"),
    ("Failed", lambda row: f"{row.due - row.answered:,}"),
)


def answer(view: View) -> Answer:
    """Which of two engines, or up to which load."""
    return of_load.answer(view) if view.load.rivals is None else a_or_b.answer(view, view.load.rivals)


def page(view: View) -> tuple[Section, ...]:
    """The sections of a load."""
    rivals = view.load.rivals
    return (
        record.dimensions(view, _reasons(view)),
        record.recommendation(view),
        record.gates(view),
        *(a_or_b.sections(view, rivals) if rivals else ()),
        _numbers(view),
        *_details(view),
        record.charts(view),
        *record.imported(view),
        record.findings(view),
        *record.metrics(view),
        record.launches(view, COLUMNS),
        *record.environment(view),
        record.conditions(view),
        record.methods(view),
        *(a_or_b.brief(view, rivals) if rivals else brief(view)),
        *questions.sections(view, COLUMNS),
        *sheets(view, load_sheets.sheets(view), load_sheets.launches, loads.in_cells),
        *results(view, PAPER),
    )


def _numbers(view: View) -> Section:
    capacity = (Prose(text=text, weight="lead") for text in tables.capacity(view))
    return Section(key="numbers", title="Numbers", content=(*record.titled(tables.numbers(view)), *capacity))


def _details(view: View) -> tuple[Section, ...]:
    details = tables.details(view)
    return (Section(key="behind", title="Behind the numbers", content=details),) if details else ()


def _reasons(view: View) -> tuple[Bullet, ...]:
    """Everything that did not pass, once per status of a dimension; if sentences differ, the first serves as an example."""
    groups: dict[tuple[str, str, str], dict[str, list[str]]] = {}
    for row in view.vector:
        for dimension in DIMENSIONS:
            if (cell := row.cells[dimension]).status != "PASS":
                groups.setdefault((dimension, cell.status, cell.word), {}).setdefault(cell.sentence, []).append(row.column.key)
    return tuple(
        record.reason(view, dimension, status, word, _example(view, sentences), [key for keys in sentences.values() for key in keys])
        for (dimension, status, word), sentences in groups.items()
    )


def _example(view: View, sentences: dict[str, list[str]]) -> str:
    sentence, keys = next(iter(sentences.items()))
    return sentence if len(sentences) == 1 else f"for example at {view.label(keys[0])}: {sentence}"


def _method(view: View) -> Iterator[str]:
    yield from facts(view, "Certificates")
    clock = next(fact.text for fact in view.conditions if fact.name == "Clock")
    yield f"The requests were fixed before the load began, and {clock}."
    yield "A percentile or a rate is one number per launch or pooled over launches, as its method says; intervals are over launches."
    yield "Requests during warm-up and drain are not counted; a failed request meets no objective."


PAPER: Final = Paper(
    workload=("Engines", "Model", "Task", "Scenarios", "Prompts", "Load", "Objectives", "Clock", "Prices", "Faults"),
    method=_method,
    performance=lambda view: (sentence(view.sentence), *tables.capacity(view)),
    table="paper",
)


def charts(view: View) -> tuple[Draw, ...]:
    """The charts of such a record."""
    of_load = (loads.curve, loads.goodput, percentiles, load_timeline, loads.panel)
    return (*of_load, quality) if view.quality_metric else of_load
