"""Which sheets does a record's workbook have?

Long tables of raw numbers for filtering and charting, with units in the heads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.metrics.metric import ALL
from fireassay.reports.answering import TONES
from fireassay.reports.figures import ends
from fireassay.reports.page import Blocks, Cell, Chart, Figure, Mark, Section, Table, heads
from fireassay.reports.view import DIMENSION_TITLES, Column, MetricRow, View
from fireassay.verdict.types import DIMENSIONS

Sheet = tuple[str, Callable[[View], Blocks]]


def sheets(
    view: View,
    further: Sequence[Section] = (),
    launches: Callable[[View], Blocks] | None = None,
    charts: Callable[[View], Iterable[Chart]] = lambda _: (),
) -> tuple[Section, ...]:
    """All sheets; `further` and `charts` are those of the kind, `launches` replaces the launch table if its columns differ."""
    first: tuple[Sheet, ...] = (("Verdict", _verdict), ("Charts", lambda view: tuple(charts(view))), ("Numbers", _numbers))
    rest: tuple[Sheet, ...] = (
        ("Metrics", _metrics),
        ("Gates", _gates),
        ("Findings", _findings),
        ("Launches", launches or _launches),
        ("Environment", _environment),
        ("Conditions", _conditions),
    )
    return (*(section(name, view, build) for name, build in first), *further, *(section(name, view, build) for name, build in rest))


def section(name: str, view: View, made: Callable[[View], Blocks]) -> Section:
    """One sheet, built when it is written."""
    return Section(key=f"sheet-{name}", title=name, depth="data", content=partial(made, view))


def _sheet(head: Sequence[str], rows: tuple[tuple[Cell, ...], ...]) -> Blocks:
    return (Table(name="sheet", heads=heads(*head), rows=rows),)


def _verdict(view: View) -> Blocks:
    rows: list[tuple[Cell, ...]] = [
        ("Verdict", "", Mark(tone=TONES[view.status], word=view.word), view.sentence),
        ("Record", "", view.state, f"{view.record}, {view.seal_words}"),
    ]
    for row in view.vector:
        for dimension in DIMENSIONS:
            cell = row.cells[dimension]
            mark = Mark(tone=TONES[cell.status], word=cell.word)
            rows.append((DIMENSION_TITLES[dimension], row.column.label, mark, cell.sentence))
    rows += [(f"Recommendation: {pick.goal}", pick.label, "", pick.sentence) for pick in view.recommendations]
    return _sheet(head=("What", "Configuration", "Status", "Sentence"), rows=tuple(rows))


def _workers(view: View) -> str:
    """The head for a configuration's count."""
    return view.kind.workers


def _numbers(view: View) -> Blocks:
    """One row per configuration, three columns per primary metric, for charting."""
    rows = tuple(row for row in view.primary if set(row.cells) != {ALL})
    head = ["Configuration", _workers(view)]
    for row in rows:
        head += [f"{row.title} ({row.unit})", f"{row.title}, low ({row.unit})", f"{row.title}, high ({row.unit})"]
    body = tuple(_number_row(column, rows) for column in view.columns)
    return _sheet(head=tuple(head), rows=body)


def _number_row(column: Column, rows: tuple[MetricRow, ...]) -> tuple[Cell, ...]:
    cells: list[Cell] = [column.label, column.workers]
    for row in rows:
        shown = row.cells.get(column.key)
        value = shown.value if shown is not None else None
        cells += ends(value) if isinstance(value, Estimate) else [shown.text if shown is not None else None, None, None]
    return tuple(cells)


def _metrics(view: View) -> Blocks:
    workers = {column.key: column.workers for column in view.columns}
    head = (
        "Metric",
        "Title",
        "Dimension",
        "Configuration",
        _workers(view),
        "Value (in Unit)",
        "Low (in Unit)",
        "High (in Unit)",
        "Unit",
        "Confidence",
        "Launches",
        "Trials",
        "Method or reason",
        "Signature",
    )
    rows: list[tuple[Cell, ...]] = []
    for row in view.metrics:
        for key, shown in row.cells.items():
            start = (row.name, row.title, row.dimension, view.label(key), workers.get(key))
            value = shown.value
            if isinstance(value, Absent):
                rows.append((*start, None, None, None, row.unit, None, None, None, f"{shown.text}: {value.detail}", ""))
                continue
            confidence = Figure(value=value.confidence, style="0.0%")
            details = (confidence, value.n_launches, value.n_trials, value.method, value.signature)
            rows.append((*start, *ends(value), row.unit, *details))
    return _sheet(head=head, rows=tuple(rows))


def _gates(view: View) -> Blocks:
    rows = tuple((g.gate, g.label, Mark(tone=TONES[g.status], word=g.word), g.sentence) for g in view.gates)
    return _sheet(head=("Gate", "Configuration", "Status", "Evidence"), rows=rows)


def _findings(view: View) -> Blocks:
    rows = tuple((f.severity, f.rule, f.where, f.evidence, f.remedy) for f in view.findings)
    return _sheet(head=("Severity", "Rule", "Where", "Evidence", "To do"), rows=rows)


def _launches(view: View) -> Blocks:
    head = (
        "Launch",
        "Configuration",
        "Workers",
        "Block",
        "Place",
        "Attempt",
        "Role",
        "Seed",
        "Begin (UTC)",
        "Status",
        "Reason",
        "Exit code",
        "Restarts",
        "Wall (s)",
        "Steps",
        "Warm-up (steps)",
        "Median step (s)",
    )
    rows = tuple(
        (
            r.number,
            r.label,
            r.workers,
            r.block,
            r.order,
            r.attempt,
            r.role,
            str(r.seed),
            r.begin_utc,
            r.status,
            r.reason,
            r.exit_code,
            r.restarts,
            Figure(value=r.wall_s, style="0.000"),
            r.steps,
            r.warmup,
            None if r.step_s is None else Figure(value=r.step_s, style="0.000000"),
        )
        for r in view.launches
    )
    return _sheet(head=head, rows=rows)


def _environment(view: View) -> Blocks:
    rows = tuple(
        (group.name, row.key, row.before, row.after, "changed" if row.changed else "") for group in view.environment for row in group.rows
    )
    return _sheet(head=("Group", "Fact", "Before", "After", "Changed"), rows=rows)


def _conditions(view: View) -> Blocks:
    what = view.kind.own_cost
    overhead = tuple((f"{what}, {label}", shown.full) for label, shown in view.overhead)
    return _sheet(head=("What", "Value"), rows=(*((fact.name, fact.text) for fact in (*view.conditions, *view.foreign)), *overhead))
