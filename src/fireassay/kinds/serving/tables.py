"""Which tables does a report on a load have?  Engines side by side at every load, and details behind the numbers.

Units are in the column heads, so that a cell is a number with its interval below it. A column without any number is omitted, and
the table's notes say why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from fireassay.estimates.format import Shown, reading, scale_for
from fireassay.metrics.metric import ALL
from fireassay.metrics.serving.latency import TTFT_COLD
from fireassay.metrics.serving.objectives import CAPACITY
from fireassay.reports import grouping
from fireassay.reports.metric_tables import CHECKS, COLD, ENGINES, FAULTS, MetricColumn
from fireassay.reports.page import Cell, Head, Number, Table, Words, said
from fireassay.reports.view import Column, MetricRow, View

ONE_LAUNCH: Final = "no interval: one launch"
GRADES: Final[Mapping[str, str]] = {
    "fail": "different",
    "distribution_close": "distribution-close",
    "near_tie": "near tie",
    "token_identical": "token-identical",
    "bitwise": "bitwise identical",
}


def numbers(view: View) -> tuple[Table, ...]:
    """Engines at each load: a table per scenario."""
    scenarios = tuple(dict.fromkeys(column.scenario for column in view.columns))
    quality = [(MetricColumn(row.name, row.title), row) for row in view.primary if row.name.startswith("quality")]
    shown = [*view.shown_in(ENGINES), *quality]
    tables = []
    for index, scenario in enumerate(scenarios):
        columns = [column for column in view.columns if column.scenario == scenario]
        columns.sort(key=lambda column: column.load or 0.0)  # stable: engines keep their order at each load
        title = scenario if len(scenarios) > 1 else "Numbers"
        notes = () if index < len(scenarios) - 1 else grouping.absences(view, [*(row for _, row in shown), *_rows(view, CAPACITY.name)])
        tables.append(_of_metrics(view, f"numbers-{index + 1}", title, columns, shown, notes))
    return tuple(table for table in tables if table is not None)


def capacity(view: View) -> tuple[str, ...]:
    """The capacity of the engines within the objectives, one sentence each; if unknown, the notes say why."""
    row = view.metric(CAPACITY.name)
    if row is None:
        return ()
    groups: dict[str, list[Column]] = {}
    for column in view.columns:
        shown = row.cells.get(column.key) or row.cells.get(ALL)
        if shown is not None and shown.measured:
            groups.setdefault(_load_in_words(view, shown), []).append(column)
    return tuple(f"Capacity{_of(view, columns)}: {words}." for words, columns in groups.items())


def _load_in_words(view: View, shown: Shown) -> str:
    bare = said(cell(shown))
    unit = {"concurrency": "requests in flight", "rate": "requests per second"}.get(view.load_word, "")
    return f"{bare.text} {unit} {bare.below if bare.below.startswith('[') else f'({bare.below})'}"


def _of(view: View, columns: Sequence[Column]) -> str:
    groups = dict.fromkeys(column.group for column in columns if column.group)
    return f" of {'; '.join(groups)}" if groups and len(columns) < len(view.columns) else ""


def details(view: View) -> tuple[Table, ...]:
    """Behind the numbers: faults, cold starts, checks of answers, failures by class, replicas."""
    tables = (
        _of_metrics(view, "faults", "Under faults", view.columns, view.shown_in(FAULTS), only_measured=True),
        _of_metrics(view, "cold", "Cold and warm start", view.columns, view.shown_in(COLD), needs=TTFT_COLD.name),
        _checks(view),
        _errors(view),
        _replicas(view),
    )
    return tuple(table for table in tables if table is not None)


# ---- tables of metrics -------------------------------------------------------------------------------------------


def _of_metrics(
    view: View,
    name: str,
    title: str,
    columns: Sequence[Column],
    shown: Sequence[tuple[MetricColumn, MetricRow]],
    notes: tuple[str, ...] = (),
    *,
    only_measured: bool = False,
    needs: str = "",
) -> Table | None:
    """A row per configuration; `only_measured` omits those without any number, `needs` names a metric without which there is no table."""
    rows = [(listed, row) for listed, row in shown if _known(row, columns)]
    if not rows or (needs and all(row.name != needs for _, row in rows)):
        return None
    if only_measured:
        columns = [column for column in columns if any(_known(row, [column]) for _, row in rows)]
    head = [_head(listed, row) for listed, row in rows]
    body = [[cell(row.cells.get(column.key)) for _, row in rows] for column in columns]
    if {said(entry).below for cells in body for entry in cells if said(entry).tone != "absent"} <= {ONE_LAUNCH, "exact"}:
        body = [[replace(entry, interval=False) if isinstance(entry, Number) else entry for entry in cells] for cells in body]
        notes = (*notes, "One launch each, so no interval; counts are exact.")
    stub = _stub_heads(columns, view)
    named = tuple((*_stub(stub, column), *cells) for column, cells in zip(columns, body, strict=True))
    return Table(inline=True, name=name, title=title, stub=len(stub), heads=(*stub, *head), rows=named, notes=notes)


def _known(row: MetricRow, columns: Sequence[Column]) -> bool:
    return any((shown := row.cells.get(column.key)) is not None and shown.measured for column in columns)


def _head(listed: MetricColumn, row: MetricRow) -> Head:
    unit = "" if row.unit in ("1/s", "fraction", "requests") else row.shown_unit
    return Head(text=", ".join(part for part in (listed.head, unit) if part), above=listed.above)


def _stub_heads(columns: Sequence[Column], view: View) -> tuple[Head, ...]:
    """The load, and engine and scenario where these columns have several."""
    load = {"concurrency": "In flight", "rate": "Offered, req/s"}.get(view.load_word, "Load")
    engine = [Head(text="Engine")] if len({column.engine for column in view.columns}) > 1 else []
    scenario = [Head(text="Scenario")] if len({column.scenario for column in columns}) > 1 else []
    return (Head(text=load), *engine, *scenario)


def _stub(heads: Sequence[Head], column: Column) -> tuple[Cell, ...]:
    load = column.brief.partition(" ")[0] if column.load is not None else column.brief
    texts = {"Engine": column.engine, "Scenario": column.scenario}
    return tuple(Words(text=texts.get(head.text, load)) for head in heads)


def cell(shown: Shown | None) -> Cell:
    """A number without its unit, which is in the head, except for shares; a short word if there is none."""
    return None if shown is None else Number(shown=shown, bare=True)


def _rows(view: View, *names: str) -> list[MetricRow]:
    return [row for name in names if (row := view.metric(name)) is not None]


# ---- tables of counts --------------------------------------------------------------------------------------------


def _checks(view: View) -> Table | None:
    """True if answers reached the right clients, and how closely answers to equal prompts agree."""
    table = _of_metrics(view, "checks", "Correctness of the answers", view.columns, view.shown_in(CHECKS))
    grades = view.load.agreement
    if table is None or not grades:
        return table
    rows = [(*row, *_grade(view, column)) for column, row in zip(view.columns, table.rows, strict=True)]
    head = (*table.heads, Head(text="grade of agreement"), Head(text="answers that differ"))
    return Table(inline=True, name=table.name, title=table.title, stub=table.stub, heads=head, rows=tuple(rows))


def _grade(view: View, column: Column) -> tuple[Cell, Cell]:
    agreement = view.load.agreement.get(column.key)
    if agreement is None:
        return None, None
    shown, possible = GRADES[agreement.shown], GRADES[agreement.possible]
    below = "" if shown == possible else f"or better, up to {possible}: not all answers could be graded"
    return Words(text=shown, below=below), Words(text=f"{agreement.differing} of {agreement.answers}", below=agreement.where)


def _errors(view: View) -> Table | None:
    """Requests of the measured windows that failed, by class."""
    errors = view.load.errors
    classes = sorted({status for counts in errors.values() for status in counts})
    if not classes:
        return None
    columns = [column for column in view.columns if errors.get(column.key)]
    stub = _stub_heads(columns, view)
    rows = [(*_stub(stub, column), *(Words(text=f"{errors[column.key].get(status, 0):,}") for status in classes)) for column in columns]
    return Table(
        inline=True,
        name="errors",
        title="Failed requests by class",
        stub=len(stub),
        heads=(*stub, *(Head(text=status) for status in classes)),
        rows=tuple(rows),
        notes=("Counted requests of the timed launches; classes not listed had none.",),
    )


def _replicas(view: View) -> Table | None:
    """How the load was distributed, and what the engines reported."""
    replicas = view.load.replicas
    notes = tuple(f"{engine} is behind a router: which replica answered is not visible." for engine in view.load.routed)
    if len(replicas) < 2:
        return None
    latency = scale_for("s", (replica.ttft_s for replica in replicas if replica.ttft_s is not None))
    read = {name for replica in replicas for name in replica.readings}
    rows = [
        (
            Words(text=replica.engine),
            Words(text=str(replica.replica)),
            Words(text=f"{replica.sent:,}"),
            Words(text=f"{replica.sent - replica.answered:,}"),
            Words(text=reading(replica.ttft_s, "s", latency).removesuffix(latency.after)),
            *_readings(replica.readings, read),
        )
        for replica in replicas
    ]
    head = ("Engine", "Replica", "requests", "failed", f"TTFT, median, {latency.label}", *(READ[n] for n in READ if n in read))
    return Table(
        inline=True,
        name="replicas",
        title="Replicas",
        stub=2,
        heads=tuple(Head(text=text) for text in head),
        rows=tuple(rows),
        notes=(*notes, f"Counted requests of the timed launches{'; means of what the engines reported' if read else ''}."),
    )


READ: Final[Mapping[str, str]] = {
    "kv_cache_used": "KV cache in use",
    "requests_running": "in the batch",
    "requests_waiting": "in the queue",
}


def _readings(values: Mapping[str, float], read: set[str]) -> Iterator[Cell]:
    for name in READ:
        if name in read:
            known = values.get(name)
            unit = "fraction" if name == "kv_cache_used" else ""
            yield None if known is None else Words(text=reading(known, unit))
