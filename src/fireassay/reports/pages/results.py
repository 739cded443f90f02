"""What may be written into a paper?

The results section as sentences and one table, from admissible numbers only. An INVALID record contributes nothing. A configuration with
a wrong result or undecided quality is named with the reason, without any number. Dimensions that were not measured are listed under limits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from fireassay import catalog
from fireassay.estimates.format import count
from fireassay.metrics.metric import ALL
from fireassay.metrics.training.scaling import AMDAHL_CEILING, EFFICIENCY, HELD_OUT_ERROR, SERIAL_FRACTION, SPEEDUP, USL_PEAK
from fireassay.metrics.training.time import THROUGHPUT
from fireassay.reports import grouping
from fireassay.reports.metric_tables import RESULTS, MetricTable
from fireassay.reports.page import Blocks, Cell, Number, Page, Prose, RecordPage, Section, Table, heads
from fireassay.reports.view import Column, MetricRow, View
from fireassay.reports.words import DIMENSION_TITLES
from fireassay.verdict.types import DIMENSIONS

DIMENSION_SECTIONS: Final = (("Correctness", "correctness"), ("Cost and energy", "cost"), ("Reliability", "reliability"))
LAUNCH_VALUES: Final = "A launch's value is the median of its steady trials; intervals are Student t on the logarithms of the launch values"
FIGURES: Final = "paper-figures"  # key of the section that is drawn, and not written
Sentences = Callable[[View], Iterable[str]]


def _method_of_launches(_: View) -> tuple[str, ...]:
    return (f"{LAUNCH_VALUES}, and speedups are taken inside rounds.",)


def _speedups(view: View) -> Iterator[str]:
    for column in (candidate for candidate in _reported(view) if candidate.key != view.base):
        numbers = [
            f"{row.title.lower()} {shown.full}"
            for name in (SPEEDUP.name, EFFICIENCY.name, THROUGHPUT.name)
            if (row := view.metric(name)) and (shown := row.cells.get(column.key)) and shown.measured
        ]
        if numbers:
            yield sentence(f"{column.label}: {'; '.join(numbers)}")
    for name in (SERIAL_FRACTION.name, AMDAHL_CEILING.name, USL_PEAK.name, HELD_OUT_ERROR.name):
        row = view.metric(name)
        shown = row.cells.get(ALL) if row else None
        if row is not None and shown is not None and shown.measured and len(_reported(view)) == len(view.columns):
            yield sentence(f"{row.title}: {shown.full}")


def _scope(view: View) -> Iterator[str]:
    """The dimensions not measured, and the range in which the numbers hold."""
    missing = [d for d in DIMENSIONS if any(row.cells[d].status == "NOT_MEASURED" for row in view.vector)]
    if missing:
        names = ", ".join(DIMENSION_TITLES[dimension].lower() for dimension in missing)
        yield f"Not measured, at least in part: {names}."
    beyond = view.kind.configurations
    yield f"The numbers hold for this workload on this system; nothing is extrapolated beyond the measured {beyond}."


@dataclass(frozen=True, kw_only=True)
class Paper:
    """The parts of the section that depend on the kind of record; the defaults are those of a launched workload."""

    workload: tuple[str, ...] = ("Workload", "Configurations", "Scaling", "Quality", "Faults")  # conditions that describe it
    method: Sentences = _method_of_launches
    performance: Sentences = _speedups
    dimensions: tuple[tuple[str, str], ...] = DIMENSION_SECTIONS  # (title, dimension) of the sections after the results
    scope: Sentences = _scope  # the last sentences of the limits
    table: MetricTable = RESULTS  # metrics that are columns of it
    rows: Callable[[View], Sequence[MetricRow]] | None = None  # these instead


def results(view: View, paper: Paper = Paper()) -> tuple[Section, ...]:  # frozen
    """System, workload, method, results, correctness, cost, reliability, limits."""
    return tuple(_section(title, content) for title, content in _parts(view, paper))


def _parts(view: View, paper: Paper) -> Iterator[tuple[str, Callable[[], tuple[Iterable[str], Table | None]]]]:
    if view.status == "INVALID":
        reasons = [finding.evidence for finding in view.findings if finding.severity == "invalid"]
        sentences = ("No number of this record may be reported: an audit found it inadmissible.", *map(sentence, reasons))
        yield "Results", lambda: (sentences, None)
        return
    yield "System", lambda: (_system(view), None)
    yield "Workload", lambda: (facts(view, *paper.workload), None)
    yield "Method", lambda: (_method(view, paper), None)
    yield "Results", lambda: ((*_unreported(view), *paper.performance(view)), _table(view, paper))
    for title, dimension in paper.dimensions:
        yield title, lambda dimension=dimension: (_of_dimension(view, dimension), None)  # type: ignore[misc]
    yield "Limits", lambda: ((*_limits(view), *paper.scope(view)), None)


def _section(title: str, content: Callable[[], tuple[Iterable[str], Table | None]]) -> Section:
    def blocks() -> Blocks:
        sentences, table = content()
        text = "\n".join(sentences)
        return (Prose(text=text), *([table] if table is not None else [])) if text else ()

    return Section(key=f"paper-{title.split()[0].lower()}", title=title, role="publication", content=blocks)


def page(view: View) -> Page:
    """The results section alone, as the record's kind writes it."""
    whole = catalog.part("kinds", view.kind.name, "show", "page")(view)
    sections = [section for section in whole if section.role == "publication" and section.key != FIGURES]
    return Page(title="", sections=tuple(replace(section, role="report") for section in sections or results(view)))


def _system(view: View) -> Iterator[str]:
    known = {field.name: field.text for field in view.artifact if field.known}
    for name in ("Processors", "Accelerators", "Memory", "Environment", "Code"):
        if name in known:
            yield sentence(f"{name}: {known[name]}")


def facts(view: View, *names: str) -> Iterator[str]:
    """Conditions of the record as sentences."""
    yield from (sentence(f"{fact.name}: {fact.text}") for fact in view.conditions if fact.name in names)


def _method(view: View, paper: Paper) -> Iterator[str]:
    yield from facts(view, "Launches", "Intervals")
    yield from paper.method(view)
    yield f"Record {view.record}, {view.state}, {view.seal_words}, assay {view.assay_version}."


def _unreported(view: View) -> Iterator[str]:
    for column in view.columns:
        if not view.reportable(column.key):
            cell = next(row.cells["correctness"] for row in view.vector if row.column == column)
            yield sentence(f"{column.label}: no number is reported, because its correctness is {cell.word} ({cell.sentence})")


def _of_dimension(view: View, dimension: str) -> Iterator[str]:
    if all(row.cells[dimension].status == "NOT_MEASURED" for row in view.vector):
        yield sentence(f"Not measured: {view.vector[0].cells[dimension].sentence}")
        return
    by_sentence: dict[tuple[str, str], list[str]] = {}  # configurations often share a sentence
    for row in view.vector:
        if dimension == "correctness" or view.reportable(row.column.key):
            cell = row.cells[dimension]
            by_sentence.setdefault((cell.word, cell.sentence), []).append(row.column.key)
    for (word, text), keys in by_sentence.items():
        yield sentence(f"{grouping.places(view, keys)}: {word} ({text})")


def _limits(view: View) -> Iterator[str]:
    for group in grouping.findings(view):
        if group.severity in ("fail", "warning"):
            yield from (sentence(f"{statement.where}: {statement.sentence}") for statement in group.told)
    for rule in view.rules:
        if rule.answer in ("in part", "not kept"):
            yield sentence(f"{rule.demand} ({rule.answer}): {rule.evidence}")


def _table(view: View, paper: Paper) -> Table | None:
    columns = _reported(view)
    rows = [row for _, row in view.shown_in(paper.table)] if paper.rows is None else paper.rows(view)
    used = [row for row in rows if any((shown := row.cells.get(c.key)) and shown.measured for c in columns)]
    if not columns or not used:
        return None
    body: tuple[tuple[Cell, ...], ...] = tuple(
        (column.label, *(Number(shown=row.cells[column.key]) if column.key in row.cells else None for row in used)) for column in columns
    )
    of = f"{count(len(columns), 'configurations')}, " if view.columns[1:] else ""
    return Table(
        name="results",
        title=f"{view.name}: {of}{view.confidence} intervals in brackets",
        heads=heads("Configuration", *(row.title for row in used)),
        rows=body,
    )


def _reported(view: View) -> tuple[Column, ...]:
    return tuple(column for column in view.columns if view.reportable(column.key))


def sentence(text: str) -> str:
    """With a capital and a full stop; the name of a side before a colon stays as it is written."""
    stripped = text.strip()
    begin = stripped[:1] if stripped.partition(" ")[0].endswith((":", ",")) else stripped[:1].upper()
    return f"{begin}{stripped[1:]}{'' if stripped.endswith(('.', '!', '?')) else '.'}"


PAGE = RecordPage(name="results", summary="the written results section, from admissible numbers only", page=page, writer="markdown")
