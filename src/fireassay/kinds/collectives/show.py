"""What is shown of timed collectives?

On one screen the bus bandwidth at the largest size, whether the data were right, a table for each operation, and the cost of a link; many
operations get a row each, at their largest size.  On the page a table for each operation, the cost of links, and classes of pairs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import polars as pl

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.estimates.format import GIGABYTES, count, given, show, size_words
from fireassay.frames.links.collective_calls import asked_cells
from fireassay.frames.links.pairs import of_record
from fireassay.frames.record_data import RecordData
from fireassay.kinds.collectives import tables
from fireassay.kinds.collectives.tables import COLUMNS, MICROSECONDS, PLACES, inverse
from fireassay.metrics.collectives import ALPHA, BETA, BUSBW, COLLECTIVE_TIME, CROSSOVER_SIZE
from fireassay.reports import answering
from fireassay.reports.build_view import KindView, contradictions, requested
from fireassay.reports.charts.links import collective_bandwidth, in_cells, topology
from fireassay.reports.charts.of_view import Draw
from fireassay.reports.page import Answer, Head, Line, Next, Section, Table, Words, number
from fireassay.reports.page import Cell as TableCell
from fireassay.reports.pages import questions, record
from fireassay.reports.pages.record_sheets import sheets
from fireassay.reports.pages.results import results
from fireassay.reports.view import Fact, View
from fireassay.reports.words import UNSAID
from fireassay.spec.sections.collectives import Cell
from fireassay.verdict.gates.gate import MIN_LAUNCHES
from fireassay.verdict.judge import Judgement

LEFT_OUT: Final = ("Scaling", "Quality", "Gates", "Faults")  # conditions that collectives do not have
SIZES: Final = {1: 8, 2: 5, 3: 3}  # groups -> rows of each; with more groups, one row each
MAX_GROUPS: Final = 12
RELIABLE: Final = 5  # launches
SHOWN: Final = (COLUMNS[0], COLUMNS[2], COLUMNS[1])  # busbw decides, and is kept in a narrow window


def _conditions(measured: RecordData, base: str) -> Mapping[str, str]:
    """The timed operations and the engine that carried them, in the workers' own words."""
    spec = measured.experiment.collectives_requested
    sizes = spec.every_size
    details = measured.table("events").filter(pl.col("kind") == "engine")["detail"]
    engine = json.loads(details[0]) if len(details) else {}
    words = {"backend": spec.backend, **{key: value for key, value in engine.items() if value is not None}}
    return {
        **{name: text for name, text in requested(measured, base).items() if name not in LEFT_OUT},
        "Workload": f"{', '.join(spec.operations)} of {spec.dtype}, {count(len(sizes), 'sizes')} from {sizes[0]} to {sizes[-1]} bytes",
        "Calls": f"{spec.warm_up} for warm-up; loops of at most {spec.calls} back to back after a barrier, at least {spec.batches}, "
        f"about {given(spec.seconds)} s of each size; the slowest rank; through {given(spec.memory_mib)} MiB of memory",
        "Engine": "; ".join(f"{key} {value}" for key, value in words.items()),
    }


def _fields(view: View, measured: RecordData, _: Judgement) -> Mapping[str, Any]:
    foreign = (*view.foreign, *_imported(measured.foreign)) if measured.foreign is not None else ()
    return {"collectives": asked_cells(measured), "pairs": of_record(measured), "foreign": foreign}


def _imported(foreign: Mapping[str, Any]) -> Iterator[Fact]:
    meanings = foreign.get("meanings") or {}
    yield Fact(name="Time", text=f"{meanings.get('time', UNSAID)}; over the ranks: {meanings.get('rank', UNSAID)}")
    yield Fact(name="Data checked", text=str(meanings.get("check", UNSAID)))
    yield from contradictions(foreign)


VIEW = KindView(conditions=_conditions, fields=_fields)


def sections(view: View) -> Iterator[Section]:
    """The first screen's evidence, then a section per question."""
    yield Section(key="bandwidth", title="Bandwidth", role="exhibit", content=lambda: questions.charts(view, collective_bandwidth))
    yield questions.section(
        "levels",
        "Sizes",
        "What does each size give?",
        lambda: (*tables.numbers(view), *questions.by_configuration(view, "performance")),
        questions.dimension_words(view, "performance"),
    )
    if view.pairs:
        yield questions.section("links", "Links", "Which ranks are close to each other?", lambda: questions.charts(view, topology))
    yield questions.section(
        "metrics-correctness",
        "Correctness",
        "Were the data right?",
        lambda: questions.by_configuration(view, "correctness"),
        questions.dimension_words(view, "correctness"),
    )
    yield from questions.closing(view, ())


def answer(view: View) -> Answer:
    """Status, the largest size's bandwidth, whether the data were right."""
    return Answer(
        mark=answering.mark(view.status),
        headline=_headline(view),
        evidence=_evidence(view),
        tiles=answering.tiles(view),
        lines=() if view.status == "INVALID" else tuple(_lines(view)),
        next=_next(view),
        record=answering.record_line(view, f"{answering.launches_words(view, 'worker count')}, slowest rank{_place(view)}"),
    )


def brief(view: View) -> tuple[Section, ...]:
    """A table for each operation and worker count; one of all if there are many."""
    if view.status == "INVALID":
        return ()
    groups = _groups(view)
    tables = (
        [_of_group(view, group, index, len(groups)) for index, group in enumerate(groups)] if len(groups) <= max(SIZES) else [_of_all(view)]
    )
    return answering.brief_sections(*tables)


def _known(view: View) -> list[Cell]:
    return [cell for cell in view.collectives if isinstance(view.value(COLLECTIVE_TIME.name, cell.name), Estimate)]


def _groups(view: View) -> list[list[Cell]]:
    """Known cells by operation, placement and worker count, each by ascending size."""
    groups: dict[str, list[Cell]] = {}
    for cell in sorted(_known(view), key=lambda cell: cell.nbytes):
        groups.setdefault(cell.group, []).append(cell)
    order = list(dict.fromkeys(cell.group for cell in view.collectives))
    return [groups[name] for name in order if name in groups]


# ---- the verdict -----------------------------------------------------------------------------------------------------


def _headline(view: View) -> str:
    if view.status == "INVALID":
        return f"no number counts: {answering.verdict_words(view)}"
    cell = _largest(view)
    if view.status != "MEASURED" or cell is None:
        return answering.verdict_words(view)
    bandwidth, time = view.value(BUSBW.name, cell.name), view.value(COLLECTIVE_TIME.name, cell.name)
    told = f"busbw {show(bandwidth, GIGABYTES).full}" if isinstance(bandwidth, Estimate) else _shown(time)
    return f"{cell.op}, {count(cell.workers, 'workers')}: {told} at {size_words(cell.size)}"


def _shown(value: object) -> str:
    return show(value).full if isinstance(value, Estimate) else "not measured"


def _largest(view: View) -> Cell | None:
    """The largest size of the first operation on most workers, as in the verdict's sentence."""
    known = _known(view)
    first = [cell for cell in known if cell.op == known[0].op]
    return max(first, key=lambda cell: (cell.workers, cell.nbytes)) if first else None


def _evidence(view: View) -> str:
    """True if the data were right, which belongs to the answer."""
    cells = [row.cells["correctness"] for row in view.vector]
    if view.status not in ("MEASURED", "INCONCLUSIVE") or not cells or cells[-1].status == "NOT_MEASURED":
        return ""
    text = cells[-1].sentence
    return f"{text[:1].upper()}{text[1:]}{f' with {view.columns[-1].label}' if len(cells) > 1 else ''}."


def _place(view: View) -> str:
    places = list(dict.fromkeys(cell.place for cell in view.collectives))
    return f", {PLACES[places[0]]}" if len(places) == 1 else ""


# ---- tables ----------------------------------------------------------------------------------------------------------


def _of_group(view: View, cells: Sequence[Cell], index: int, groups: int) -> Table:
    shown = _some(cells, SIZES[groups])
    first = cells[0]
    several = f", {PLACES[first.place]}" if not _place(view) else ""
    left = f" ({len(shown)} of {count(len(cells), 'sizes')})" if len(shown) < len(cells) else ""
    rows = tuple((Words(text=size_words(cell.size)), *_values(view, cell)) for cell in shown)
    title = f"{first.op}, {count(first.workers, 'workers')}{several}{left}" if groups > 1 or left else ""
    return Table(name=f"collective-{index}", title=title, heads=(Head(text="size"), *_heads()), rows=rows, inline=True)


def _of_all(view: View) -> Table:
    """One row for each operation and worker count, at its largest size."""
    groups = _groups(view)
    shown = groups[:MAX_GROUPS]
    rows = tuple((Words(text=group[-1].op), group[-1].workers, *_in_row(view, group[-1])) for group in shown)
    left = (f"{len(groups) - len(shown)} more: --full",) if len(groups) > len(shown) else ()
    heads = (Head(text="largest size of"), Head(text="workers"), Head(text="size"), Head(text=SHOWN[0][0]), Head(text=SHOWN[1][0]))
    return Table(name="collectives", heads=heads, rows=rows, stub=3, notes=left, inline=True)


def _in_row(view: View, cell: Cell) -> tuple[TableCell, ...]:
    time, busbw, _ = _values(view, cell)
    return Words(text=size_words(cell.size)), time, busbw


def _some(cells: Sequence[Cell], most: int) -> list[Cell]:
    """At most so many sizes, evenly over the list; the smallest and the largest always."""
    if len(cells) <= most:
        return list(cells)
    places = sorted({round(index * (len(cells) - 1) / (most - 1)) for index in range(most)})
    return [cells[place] for place in places]


def _heads() -> tuple[Head, ...]:
    return tuple(Head(text=text) for text, _, _ in SHOWN)


def _values(view: View, cell: Cell) -> tuple[TableCell, ...]:
    values = [(view.value(metric, cell.name), scale) for _, metric, scale in SHOWN]
    return tuple(None if value is None else number(value, scale, bare=True) for value, scale in values)


# ---- lines -----------------------------------------------------------------------------------------------------------


def _lines(view: View) -> Iterator[Line]:
    if links := _links(view):
        yield Line(label="links", text=links, target="links")
    for pairs in view.pairs[:1]:
        if said := "; ".join(pairs.classes.sentences[:1]) or pairs.classes.refused:
            yield Line(label="pairs", text=answering.shortened(said), target="pairs-1")
    if missing := _missing(view):
        yield Line(label="not measured", text=missing, mark=answering.mark("NOT_MEASURED"), target="collective-1")
    yield answering.doubts(view)


def _links(view: View) -> str:
    """The cost of a link by the operation of the headline."""
    cell = _largest(view)
    if cell is None:
        return ""
    parts = (
        (view.value(ALPHA.name, cell.group), MICROSECONDS, "", " latency"),
        (inverse(view.value(BETA.name, cell.group)), GIGABYTES, "", ""),
        (view.value(CROSSOVER_SIZE.name, cell.group), None, "latency rules below ", ""),
    )
    told = [f"{before}{show(value, scale).full}{after}" for value, scale, before, after in parts if isinstance(value, Estimate)]
    return "; ".join(told)


def _missing(view: View) -> str:
    """What was asked for and has no number, by reason."""
    reasons: dict[str, dict[str, None]] = {}
    for cell in view.collectives:
        value = view.value(COLLECTIVE_TIME.name, cell.name)
        if isinstance(value, Absent):
            reasons.setdefault(value.detail, {})[cell.op] = None
    return answering.shortened("; ".join(f"{', '.join(ops)}: {why}" for why, ops in reasons.items()))


def _next(view: View) -> tuple[Next, ...]:
    if view.status in ("INVALID", "FAIL"):
        return answering.remedies(view, (view.status.lower(),))
    if view.status == "INCONCLUSIVE" and 0 < answering.timed(view) < MIN_LAUNCHES:
        command = f"assay run {answering.named(view)} --launches {RELIABLE}"
        return (Next(reason="the same with enough launches for an interval", command=command),)
    return ()


def page(view: View) -> tuple[Section, ...]:
    """The sections of such a record."""
    return (
        record.dimensions(view),
        Section(key="numbers", title="Numbers", content=tables.numbers(view)),
        record.charts(view),
        *record.imported(view),
        record.findings(view),
        *record.how(view, record.TRAINING_COLUMNS),
        *brief(view),
        *sections(view),
        *sheets(view, charts=in_cells),
        *results(view),
    )


def charts(_: View) -> tuple[Draw, ...]:
    """The charts of such a record."""
    return (collective_bandwidth, topology)
