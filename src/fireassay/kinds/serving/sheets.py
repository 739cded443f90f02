"""What does the workbook of a load contain?   A summary per scenario with a row per engine and load, and a row per request.

The summary has the columns that users of genai-bench know, in its order: concurrency, requests per second, time to first token,
time per output token, end-to-end latency, output speed, throughput in and out, errors.  Percentiles of this sheet pool the
answered requests of all timed launches and have no interval; those with one are on the sheet of metrics.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

import polars as pl
import polars.selectors as cs

from fireassay.estimates.estimate import Estimate
from fireassay.kinds.serving import tables
from fireassay.reports.metric_tables import WORKBOOK
from fireassay.reports.page import Blocks, Cell, Figure, Raw, Section, Table, heads, said
from fireassay.reports.pages.record_sheets import PLANNED, launch_sheet, sheet, wall
from fireassay.reports.view import Column, View
from fireassay.units import NS_PER_S

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
        *(sheet(table.title, partial(_as_text, table)) for table in tables.details(view)),
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
