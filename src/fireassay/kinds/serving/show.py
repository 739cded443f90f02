"""What is shown of a load?  Engines side by side at every load, details behind the numbers, and every request.

An HTML page asks: what throughput costs in latency, what each load gives, then right, tails, faults.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.estimates.format import Shown, show
from fireassay.frames.record_data import RecordData
from fireassay.kinds.serving import a_or_b, quick, tables, words
from fireassay.kinds.serving import answer as of_load
from fireassay.kinds.serving.brief import brief, caution
from fireassay.metrics.serving.latency import SEND_LAG
from fireassay.reports import load, metric_tables
from fireassay.reports.build_view import QUALITY, KindView
from fireassay.reports.charts import loads
from fireassay.reports.charts.evaluation import quality
from fireassay.reports.charts.load_timeline import load_timeline
from fireassay.reports.charts.of_view import Draw
from fireassay.reports.charts.percentiles import percentiles
from fireassay.reports.hosts_table import hosts_table
from fireassay.reports.page import Answer, Blocks, Bullet, Cell, Prose, Role, Section
from fireassay.reports.pages import questions, record
from fireassay.reports.pages.record_sheets import sheets
from fireassay.reports.pages.results import Paper, facts, results, sentence
from fireassay.reports.view import Column, LaunchRow, View
from fireassay.spec.plan import Configuration, targets_of
from fireassay.spec.sections.serving import Serving
from fireassay.verdict.judge import Judgement
from fireassay.verdict.types import DIMENSIONS, HOLDS

if TYPE_CHECKING:
    from fireassay.verdict.comparison.a_or_b import AOrB
CURVE: Final = "How much latency does throughput cost?"
TABLES: Final = {
    "faults": "reliability",
    "cold": "tails",
    "sessions": "tails",
}  # of the details, under which question; the others say if answers are right
GOODPUT: Final = "How much of the load was good?"
COLUMNS: Final[tuple[tuple[str, Callable[[LaunchRow], Cell]], ...]] = (
    ("Requests due", lambda row: f"{row.due:,}"),
    ("Answered", lambda row: f"{row.answered:,}"),
    ("Failed", lambda row: f"{row.due - row.answered:,}"),
)


def _serving(measured: RecordData) -> Serving:
    assert measured.experiment.serving is not None
    return measured.experiment.serving


def _columns(measured: RecordData) -> tuple[Column, ...]:
    return tuple(_column(_serving(measured), configuration) for configuration in measured.varied)


def _column(serving: Serving, configuration: Configuration) -> Column:
    """A load is called "8 in flight" or "5 req/s", after its engine and scenario if there are several."""
    group, load = words.group_of(serving, configuration), words.load_of(serving, configuration)
    return Column(
        key=configuration.name,
        label=f"{group}, {load}" if group else load,
        workers=configuration.workers,
        engine=configuration.target,
        scenario=configuration.scenario,
        load=configuration.load,
        group=group,
        brief=load,
    )


def _conditions(measured: RecordData, _: str) -> Mapping[str, str]:
    return words.as_stated(words.conditions(measured), measured)


def _fields(view: View, measured: RecordData, judgement: Judgement) -> Mapping[str, Any]:
    known = replace(load.build(measured), rivals=_rivals(measured, judgement))
    requested = measured.experiment.quality is not None
    tallies = ((row, known.tallies.get(row.number)) for row in view.launches)
    return {
        "metrics": tuple(replace(row, primary=row.primary and (requested or row.name not in QUALITY)) for row in view.metrics),
        "launches": tuple(replace(row, due=tally.due, answered=tally.answered) if tally else row for row, tally in tallies),
        "overhead": _send_lag(view),
        "foreign": (*view.foreign, *words.foreign_facts(measured, judgement.results)),
        "serving": known,
        "load_word": "concurrency" if _serving(measured).concurrency else "rate",
    }


def _rivals(measured: RecordData, judgement: Judgement) -> AOrB | None:
    """The comparison of two engines, imported only for such records."""
    if len(targets_of(_serving(measured))) != 2:
        return None
    from fireassay.verdict.comparison.a_or_b import a_or_b

    return a_or_b(measured, judgement)


def _send_lag(view: View) -> tuple[tuple[str, Shown], ...]:
    """A client's cost is late sending: shown for the worst load."""
    row = view.metric(SEND_LAG.name)
    cells = {} if row is None else row.cells
    known = [(shown.value.value, key) for key, shown in cells.items() if isinstance(shown.value, Estimate)]
    if not known:
        missing = Absent(reason="insufficient", detail="no load has enough requests for a p99 of their send lag")
        return (("send lag, p99", next(iter(cells.values())) if len(cells) == 1 else show(missing)),)
    worst = max(known)[1]
    return ((f"send lag, p99, at its worst ({view.label(worst)})", cells[worst]),)


VIEW = KindView(columns=_columns, conditions=_conditions, fields=_fields)


# ---- the questions of an HTML page -----------------------------------------------------------------------------------


def question_sections(view: View, columns: Sequence[tuple[str, Callable[[LaunchRow], Cell]]]) -> Iterator[Section]:
    """The first screen's evidence, then a section per question."""
    is_quick = quick.is_quick(view)
    first: Role = "question" if is_quick or view.load.rivals is not None else "exhibit"  # plain numbers or a frontier have the first screen
    if is_quick:
        yield Section(key="raw", title="Numbers", role="exhibit", content=lambda: quick.raw(view))
    yield Section(key="curve", title="Latency", question=CURVE, role=first, content=lambda: questions.charts(view, loads.curve))
    yield Section(
        key="goodput", title="Goodput", question=GOODPUT, role=first, content=lambda: questions.charts(view, loads.goodput, absent=False)
    )
    yield questions.section(
        "levels", "Loads", "What does each load give?", lambda: _loads(view), questions.dimension_words(view, "performance")
    )
    yield questions.section(
        "metrics-correctness",
        "Correctness",
        "Are the answers right?",
        lambda: (*questions.charts(view, quality, absent=False), *_details_of(view, ""), *questions.by_configuration(view, "correctness")),
        questions.dimension_words(view, "correctness"),
    )
    yield questions.section("tails", "Latencies", "How are latencies distributed?", lambda: _tails(view))
    for dimension, title, question in (
        ("cost", "Cost", "What does an answer cost?"),
        ("reliability", "Faults", "Does it survive a fault?"),
    ):
        yield from questions.of_dimension(view, dimension, title, question, partial(_details_of, view, dimension))
    yield questions.section(
        "time", "Over time", "What happened second by second?", lambda: questions.charts(view, load_timeline, absent=False)
    )
    yield from questions.closing(view, columns)


def _loads(view: View) -> Blocks:
    capacity = tuple(Prose(text=text) for text in tables.capacity(view))
    return (
        *_caution(view),
        *capacity,
        *tables.numbers(view),
        *questions.verdict(view),
        *questions.by_configuration(view, "performance"),
        *hosts_table(view),
    )


def _tails(view: View) -> Blocks:
    return (*questions.charts(view, percentiles, loads.panel), *_details_of(view, "tails"))


def _details_of(view: View, question: str) -> Blocks:
    return tuple(table for table in tables.details(view) if TABLES.get(table.name, "") == question)


# ---- the page --------------------------------------------------------------------------------------------------------


def answer(view: View) -> Answer:
    """Which of two engines, or up to which load."""
    if quick.is_quick(view):
        return quick.answer(view)
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
        Section(key="hosts", title="Hosts", depth="detail", content=lambda: hosts_table(view)),
        record.charts(view),
        *record.imported(view),
        record.findings(view),
        *record.metrics(view),
        *record.how(view, COLUMNS),
        *(quick.brief(view) if quick.is_quick(view) else a_or_b.brief(view, rivals) if rivals else brief(view)),
        *question_sections(view, COLUMNS),
        *sheets(view, tables.sheets(view), tables.launches, loads.in_cells),
        *results(view, PAPER),
    )


def _numbers(view: View) -> Section:
    capacity = (Prose(text=text, weight="lead") for text in tables.capacity(view))
    return Section(key="numbers", title="Numbers", content=(*_caution(view), *record.titled(tables.numbers(view)), *capacity))


def _caution(view: View) -> tuple[Prose, ...]:
    """What keeps the numbers below from being quoted, if anything does."""
    text = caution(view)
    return (Prose(text=f"{text[:1].upper()}{text[1:]}.", weight="lead"),) if text else ()


def _details(view: View) -> tuple[Section, ...]:
    details = tables.details(view)
    return (Section(key="behind", title="Behind the numbers", content=details),) if details else ()


def _reasons(view: View) -> tuple[Bullet, ...]:
    """Everything that did not pass, once per status of a dimension; if sentences differ, the first serves as an example."""
    groups: dict[tuple[str, str, str], dict[str, list[str]]] = {}
    for row in view.vector:
        for dimension in DIMENSIONS:
            if (cell := row.cells[dimension]).status not in HOLDS:
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
    table=metric_tables.PAPER,
)


def charts(view: View) -> tuple[Draw, ...]:
    """The charts of such a record."""
    of_load = (loads.curve, loads.goodput, percentiles, load_timeline, loads.panel)
    return (*of_load, quality) if view.quality_metric else of_load
