"""Which sheets does a record's workbook have?

Long tables of raw numbers for filtering and charting, with units in the heads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.metrics.metric import ALL
from fireassay.reports.answering import TONES
from fireassay.reports.cell import ends
from fireassay.reports.page import Blocks, Cell, Chart, Figure, Mark, Section, Table, heads
from fireassay.reports.view import Column, LaunchRow, MetricRow, View
from fireassay.reports.words import DIMENSION_TITLES
from fireassay.verdict.types import DIMENSIONS

Sheet = tuple[str, Callable[[View], Blocks]]
LaunchColumn = tuple[str, Callable[[LaunchRow], Cell]]


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
    return (
        *(sheet(name, partial(build, view)) for name, build in first),
        *further,
        *(sheet(name, partial(build, view)) for name, build in rest),
    )


def sheet(name: str, content: Callable[[], Blocks]) -> Section:
    """One sheet, built when it is written."""
    return Section(key=f"sheet-{name}", title=name, role="data", content=content)


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


def _numbers(view: View) -> Blocks:
    """One row per configuration, three columns per primary metric, for charting."""
    rows = tuple(row for row in view.primary if set(row.cells) != {ALL})
    head = ["Configuration", view.kind.workers]
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
        *("Metric", "Title", "Dimension", "Configuration", view.kind.workers, "Value (in Unit)", "Low (in Unit)", "High (in Unit)", "Unit"),
        *("Confidence", "Launches", "Trials", "Method or reason", "Signature"),
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
    return launch_sheet(
        view,
        ("Workers", lambda row: row.workers),
        *PLANNED,
        ("Exit code", lambda row: row.exit_code),
        ("Restarts", lambda row: row.restarts),
        ("Wall (s)", wall),
        ("Steps", lambda row: row.steps),
        ("Warm-up (steps)", lambda row: row.warmup),
        ("Median step (s)", lambda row: None if row.step_s is None else Figure(value=row.step_s, style="0.000000")),
    )


def launch_sheet(view: View, *columns: LaunchColumn) -> Blocks:
    """Every launch, with these columns after its number and configuration."""
    shown: tuple[LaunchColumn, ...] = (("Launch", lambda row: row.number), ("Configuration", lambda row: row.label), *columns)
    return _sheet(head=tuple(head for head, _ in shown), rows=tuple(tuple(of(row) for _, of in shown) for row in view.launches))


def wall(row: LaunchRow) -> Cell:
    """The wall time of a launch."""
    return Figure(value=row.wall_s, style="0.000")


PLANNED: Final[tuple[LaunchColumn, ...]] = (
    ("Round", lambda row: row.block),
    ("Place", lambda row: row.order),
    ("Attempt", lambda row: row.attempt),
    ("Role", lambda row: row.role),
    ("Seed", lambda row: str(row.seed)),
    ("Begin (UTC)", lambda row: row.begin_utc),
    ("Status", lambda row: row.status),
    ("Reason", lambda row: row.reason),
)


def _environment(view: View) -> Blocks:
    rows = tuple(
        (group.name, row.key, row.before, row.after, "changed" if row.changed else "") for group in view.environment for row in group.rows
    )
    return _sheet(head=("Group", "Fact", "Before", "After", "Changed"), rows=rows)


def _conditions(view: View) -> Blocks:
    what = view.kind.own_cost
    overhead = tuple((f"{what}, {label}", shown.full) for label, shown in view.overhead)
    return _sheet(head=("What", "Value"), rows=(*((fact.name, fact.text) for fact in (*view.conditions, *view.foreign)), *overhead))
