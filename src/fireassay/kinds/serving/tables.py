"""Which tables does a report on a load have?  Engines side by side at every load, and details behind the numbers.

Units are in the column heads, so that a cell is a number with its interval below it. A column without any number is omitted, and
the table's notes say why.

The workbook's summary has the columns that users of genai-bench know, in its order: concurrency, requests per second, time to first token,
time per output token, end-to-end latency, output speed, throughput in and out, errors.  Percentiles of this sheet pool the answered requests
of all timed launches and have no interval; those with one are on the sheet of metrics.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import polars as pl
import polars.selectors as cs

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import Shown, reading, scale_for
from fireassay.metrics.metric import ALL
from fireassay.metrics.serving.latency import TTFT_COLD
from fireassay.metrics.serving.objectives import CAPACITY
from fireassay.reports import grouping
from fireassay.reports.metric_tables import CHECKS, COLD, ENGINES, FAULTS, WORKBOOK, MetricColumn
from fireassay.reports.page import Blocks, Cell, Figure, Head, Number, Raw, Section, Table, Words, heads, said
from fireassay.reports.pages.record_sheets import PLANNED, launch_sheet, sheet, wall
from fireassay.reports.session_table import session_table
from fireassay.reports.view import Column, MetricRow, View
from fireassay.units import NS_PER_S

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
        *session_table(view.load.sessions, {column.key: column.label for column in view.columns}),
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


# ---- sheets of a workbook --------------------------------------------------------------------------------------------


MAX_ROWS: Final = 100_000  # of the sheet of requests; the record has all
SHARES: Final = (0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
LATENCIES: Final = (("TTFT (s)", "ttft_s"), ("TPOT (s)", "tpot_s"), ("End-to-end latency (s)", "e2e_s"))
REQUEST_COLUMNS: Final = (
    *(("Launch", "launch"), ("Configuration", "configuration"), ("Role", "role"), ("Request", "request"), ("Phase", "phase")),
    *(("Kind", "kind"), ("Stream", "stream"), ("Session", "session"), ("Turn", "turn"), ("Replica", "replica"), ("Status", "status")),
    *(("HTTP status", "http_status"), ("Due (s)", "due_s"), ("Send lag (s)", "lag_s"), ("Connect (s)", "connect_s")),
    *(("TTFT (s)", "ttft_s"), ("TPOT (s)", "tpot_s"), ("End to end (s)", "e2e_s"), ("Input tokens", "tokens_in")),
    *(("Output tokens", "tokens"), ("Cached tokens", "tokens_cached"), ("Met objectives", "met"), ("Counted", "counted")),
    *(("Finish", "finish_reason"), ("Error", "error")),
)


def sheets(view: View) -> tuple[Section, ...]:
    """The sheets that only a load has."""
    scenarios = tuple(dict.fromkeys(column.scenario for column in view.columns))
    return (
        *(sheet(f"Summary {scenario}".strip(), partial(_summary, view, scenario)) for scenario in scenarios),
        *(sheet(table.title, partial(_as_text, table)) for table in details(view)),
        sheet("Requests", partial(_requests, view)),
    )


def _summary(view: View, scenario: str) -> Blocks:
    head = ["Scenario", "Engine", {"concurrency": "Concurrency", "rate": "Rate (requests/s)"}.get(view.load_word, "Load")]
    head += ["Requests counted", "Answered", *(column.head for column, _ in view.shown_in(WORKBOOK))]
    for title, _ in LATENCIES:
        head += [f"{title} mean", *(f"{title} p{100 * share:g}" for share in SHARES)]
    head += ["Output speed of one request (tokens/s) mean"]
    rows = tuple(tuple(_row(view, column)) for column in view.columns if column.scenario == scenario)
    return (Table(name="summary", heads=heads(*head), rows=rows),)


def _as_text(table: Table) -> Blocks:
    """A table behind the numbers as texts: faults, cold starts, checks, failures, replicas."""
    rows = tuple(tuple(f"{words.text} {words.below}".strip() for words in map(said, row)) for row in table.rows)
    return (Table(name=table.name, heads=heads(*(head.full for head in table.heads)), rows=rows),)


def launches(view: View) -> Blocks:
    """Every launch with its requests."""
    return launch_sheet(
        view,
        ("Replicas", lambda row: row.workers),
        *PLANNED,
        ("Wall (s)", wall),
        ("Requests due", lambda row: row.due),
        ("Answered", lambda row: row.answered),
        ("Failed", lambda row: row.due - row.answered),
    )


def _row(view: View, column: Column) -> Iterator[Cell]:
    counted = view.load.requests.filter((pl.col("configuration") == column.key) & pl.col("counted") & (pl.col("role") == "timed"))
    well = counted.filter("ok")
    yield from (column.scenario, column.engine, column.load, counted.height, well.height)
    for _, row in view.shown_in(WORKBOOK):
        cell = row.cells.get(column.key)
        yield (None if cell is None else Figure(value=cell.value.value) if isinstance(cell.value, Estimate) else cell.text)
    for _, name in LATENCIES:
        values = well[name].drop_nulls()
        yield _number(values.mean())
        yield from (_number(values.quantile(share, "linear")) for share in SHARES)
    paced = well["tpot_s"].drop_nulls()
    yield _number((1.0 / paced.filter(paced > 0)).mean())  # an answer received in one piece has no speed


def _number(value: object) -> Cell:
    return Figure(value=float(value), style="0.000000") if isinstance(value, int | float) else None


def _requests(view: View) -> Blocks:
    rows = view.load.requests
    first = rows.group_by("launch").agg(pl.col("scheduled_ns").min().alias("_first"))
    due = (pl.col("scheduled_ns") - pl.col("_first")) / NS_PER_S
    shown = rows.head(MAX_ROWS).join(first, on="launch", maintain_order="left").with_columns(due_s=due)
    known = [(title, name) for title, name in REQUEST_COLUMNS if name in shown.columns]
    plain = shown.select(name for _, name in known).with_columns(
        cs.boolean().replace_strict({True: "yes", False: "no"}, return_dtype=pl.String), pl.when(cs.float().is_finite()).then(cs.float())
    )
    left = rows.height - shown.height
    note = f"{left:,} further requests are in the record and not in this sheet"
    rest = ((note, *(None,) * (len(known) - 1)),) if left else ()
    return (Raw(name="requests", heads=tuple(title for title, _ in known), frame=plain, rows=rest),)
