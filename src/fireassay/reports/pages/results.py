"""What may be written into a paper?

The results section as sentences and one table, from admissible numbers only. An INVALID record contributes nothing. A configuration with
a wrong result or undecided quality is named with the reason, without any number. What was not measured is listed under limits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from fireassay.estimates.format import count
from fireassay.metrics.metric import ALL
from fireassay.metrics.training.scaling import AMDAHL_CEILING, EFFICIENCY, HELD_OUT_ERROR, SERIAL_FRACTION, SPEEDUP, USL_PEAK
from fireassay.metrics.training.time import THROUGHPUT
from fireassay.reports import grouping, load_tables
from fireassay.reports.page import Blocks, Cell, Number, Page, Prose, Section, Table, heads
from fireassay.reports.pages.page_plugin import RecordPage
from fireassay.reports.view import DIMENSION_TITLES, Column, View
from fireassay.verdict.types import DIMENSIONS

LOAD_FACTS = ("Engines", "Model", "Task", "Scenarios", "Prompts", "Load", "Objectives", "Clock", "Prices", "Faults")
WORKLOAD_FACTS = ("Workload", "Configurations", "Scaling", "Quality", "Faults")


def results(view: View) -> tuple[Section, ...]:
    """System, workload, method, results, correctness, cost, reliability, limits."""
    return tuple(_section(title, content) for title, content in _parts(view))


def _parts(view: View) -> Iterator[tuple[str, Callable[[], tuple[Iterable[str], Table | None]]]]:
    if view.status == "INVALID":
        reasons = [finding.evidence for finding in view.findings if finding.severity == "invalid"]
        sentences = ("No number of this record may be reported: an audit found it inadmissible.", *map(_sentence, reasons))
        yield "Results", lambda: (sentences, None)
        return
    yield "System", lambda: (_system(view), None)
    yield "Workload", lambda: (_workload(view), None)
    yield "Method", lambda: (_method(view), None)
    if view.timing:
        yield "Results", lambda: ((view.sentence,), _table(view))
    else:
        yield "Results", lambda: (_performance(view), _table(view))
        yield "Correctness", lambda: (_of_dimension(view, "correctness"), None)
        yield "Cost and energy", lambda: (_of_dimension(view, "cost"), None)
        yield "Reliability", lambda: (_of_dimension(view, "reliability"), None)
    yield "Limits", lambda: (_limits(view), None)


def _section(title: str, content: Callable[[], tuple[Iterable[str], Table | None]]) -> Section:
    def blocks() -> Blocks:
        sentences, table = content()
        text = "\n".join(sentences)
        return (Prose(text=text), *([table] if table is not None else [])) if text else ()

    return Section(key=f"paper-{title.split()[0].lower()}", title=title, depth="paper", content=blocks)


def page(view: View) -> Page:
    """The results section alone."""
    return Page(title="", sections=tuple(replace(section, depth="front") for section in results(view)))


def _system(view: View) -> Iterator[str]:
    known = {field.name: field.text for field in view.artifact if field.known}
    for name in ("Processors", "Accelerators", "Memory", "Environment", "Code"):
        if name in known:
            yield _sentence(f"{name}: {known[name]}")


def _workload(view: View) -> Iterator[str]:
    for fact in view.conditions:
        if fact.name in (LOAD_FACTS if view.kind.sends_requests else WORKLOAD_FACTS):
            yield _sentence(f"{fact.name}: {fact.text}")


def _method(view: View) -> Iterator[str]:
    for fact in view.conditions:
        if fact.name in ("Launches", "Intervals"):
            yield _sentence(f"{fact.name}: {fact.text}")
    if view.kind.sends_requests:
        yield from _method_of_load(view)
        return
    value = "A launch's value is the median of its steady trials; intervals are Student t on the logarithms of the launch values"
    yield f"{value}." if view.timing else f"{value}, and speedups are taken inside blocks."
    yield f"Record {view.record}, {view.state}, {view.seal_words}, assay {view.assay_version}."


def _method_of_load(view: View) -> Iterator[str]:
    yield from (_sentence(f"{fact.name}: {fact.text}") for fact in view.conditions if fact.name == "Certificates")
    clock = next(fact.text for fact in view.conditions if fact.name == "Clock")
    yield f"What is sent was fixed before the load began, and {clock}."
    yield "A percentile or a rate is one number per launch or pooled over launches, as its method says; intervals are over launches."
    yield "Requests during warm-up and drain are not counted; a failed request meets no objective."
    yield f"Record {view.record}, {view.state}, {view.seal_words}, assay {view.assay_version}."


def _performance(view: View) -> Iterator[str]:
    for column in view.columns:
        if not view.reportable(column.key):
            cell = next(row.cells["correctness"] for row in view.vector if row.column == column)
            yield _sentence(f"{column.label}: no number is reported, for its correctness is {cell.word} ({cell.sentence})")
    if view.kind.sends_requests:
        yield _sentence(view.sentence)
        yield from load_tables.capacity(view)
        return
    for column in (candidate for candidate in _reported(view) if candidate.key != view.base):
        numbers = [
            f"{row.title.lower()} {shown.full}"
            for name in (SPEEDUP.name, EFFICIENCY.name, THROUGHPUT.name)
            if (row := view.metric(name)) and (shown := row.cells.get(column.key)) and shown.measured
        ]
        if numbers:
            yield _sentence(f"{column.label}: {'; '.join(numbers)}")
    for name in (SERIAL_FRACTION.name, AMDAHL_CEILING.name, USL_PEAK.name, HELD_OUT_ERROR.name):
        row = view.metric(name)
        shown = row.cells.get(ALL) if row else None
        if row is not None and shown is not None and shown.measured and len(_reported(view)) == len(view.columns):
            yield _sentence(f"{row.title}: {shown.full}")


def _of_dimension(view: View, dimension: str) -> Iterator[str]:
    if all(row.cells[dimension].status == "NOT_MEASURED" for row in view.vector):
        yield _sentence(f"Not measured: {view.vector[0].cells[dimension].sentence}")
        return
    by_sentence: dict[tuple[str, str], list[str]] = {}  # many loads share a sentence
    for row in view.vector:
        if dimension == "correctness" or view.reportable(row.column.key):
            cell = row.cells[dimension]
            by_sentence.setdefault((cell.word, cell.sentence), []).append(row.column.key)
    for (word, sentence), keys in by_sentence.items():
        if not view.kind.sends_requests:
            yield from (_sentence(f"{view.label(key)}: {word} ({sentence})") for key in keys)
        else:
            yield _sentence(f"{grouping.places(view, keys)}: {word} ({sentence})")


def _limits(view: View) -> Iterator[str]:
    if view.kind.sends_requests:
        yield from _limits_found(view)
    for finding in () if view.kind.sends_requests else view.findings:
        if finding.severity in ("fail", "warning"):
            yield _sentence(f"{finding.where}: {finding.evidence}")
    for rule in view.rules:
        if rule.answer in ("in part", "not kept"):
            yield _sentence(f"{rule.demand} ({rule.answer}): {rule.evidence}")
    if view.timing:
        yield from (_sentence(f"{fact.name}: {fact.text}") for fact in view.timing if fact.name != "spread")
        yield "The numbers hold for this command or function on this system."
        return
    missing = [d for d in DIMENSIONS if any(row.cells[d].status == "NOT_MEASURED" for row in view.vector)]
    if missing:
        names = ", ".join(DIMENSION_TITLES[dimension].lower() for dimension in missing)
        yield f"Not measured, at least in part: {names}."
    beyond = view.kind.configurations
    yield f"The numbers hold for this workload on this system; nothing is extrapolated beyond the measured {beyond}."


def _limits_found(view: View) -> Iterator[str]:
    for group in grouping.findings(view):
        if group.severity in ("fail", "warning"):
            yield from (_sentence(f"{statement.where}: {statement.sentence}") for statement in group.told)


def _table(view: View) -> Table | None:
    columns = _reported(view)
    rows = [row for _, row in view.shown_in("paper" if view.kind.sends_requests else "results")]
    used = [row for row in rows if any((shown := row.cells.get(c.key)) and shown.measured for c in columns)]
    if not columns or not used:
        return None
    body: tuple[tuple[Cell, ...], ...] = tuple(
        (column.label, *(Number(shown=row.cells[column.key]) if column.key in row.cells else None for row in used)) for column in columns
    )
    of = "" if view.timing else f"{count(len(columns), 'configurations')}, "
    return Table(
        name="results",
        title=f"{view.name}: {of}{view.confidence} intervals in brackets",
        heads=heads("Configuration", *(row.title for row in used)),
        rows=body,
    )


def _reported(view: View) -> tuple[Column, ...]:
    return tuple(column for column in view.columns if view.reportable(column.key))


def _sentence(text: str) -> str:
    """Add a capital and a full stop."""
    stripped = text.strip()
    return f"{stripped[:1].upper()}{stripped[1:]}{'' if stripped.endswith(('.', '!', '?')) else '.'}"


PAGE = RecordPage(name="results", summary="the written results section, from admissible numbers only", page=page, writer="markdown")
