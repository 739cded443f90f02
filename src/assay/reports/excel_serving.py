"""What stands in the workbook of a load?  A summary per scenario with a row per engine and load, and a row per request.

The summary has the columns that users of genai-bench know, in its order: concurrency, requests per second, time to first token,
time per output token, end-to-end latency, output speed, throughput in and out, errors.  Percentiles of this sheet pool the
answered requests of all timed launches and have no interval; those with one stand on the sheet of metrics.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import polars as pl

from assay.metrics.estimate import Estimate
from assay.reports.sheets import Content, Figure, Sheet
from assay.reports.view import Column, View

MOST_ROWS: Final = 200_000  # of the sheet of requests; Excel's own limit is 1,048,576
SHARES: Final = (0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
LATENCIES: Final = (("TTFT (s)", "ttft_s"), ("TPOT (s)", "tpot_s"), ("End-to-end latency (s)", "e2e_s"))
BY_METRIC: Final = (
    ("Requests/s", "request_throughput"), ("Input throughput (tokens/s)", "input_throughput"),
    ("Output throughput (tokens/s)", "output_throughput"), ("Goodput (requests/s)", "goodput"), ("SLO attainment", "slo_attainment"),
    ("Error rate", "error_rate"), ("Cost per 1000 output tokens (USD)", "cost_per_1k_tokens"),
)  # fmt: skip
REQUEST_COLUMNS: Final = (
    ("Launch", "launch"), ("Configuration", "configuration"), ("Role", "role"), ("Request", "request"), ("Phase", "phase"),
    ("Kind", "kind"), ("Stream", "stream"), ("Session", "session"), ("Turn", "turn"), ("Replica", "replica"), ("Status", "status"),
    ("HTTP status", "http_status"), ("Due (s)", "due_s"), ("Send lag (s)", "lag_s"), ("Connect (s)", "connect_s"), ("TTFT (s)", "ttft_s"),
    ("TPOT (s)", "tpot_s"), ("End to end (s)", "e2e_s"), ("Input tokens", "tokens_in"), ("Output tokens", "tokens"),
    ("Cached tokens", "tokens_cached"), ("Met objectives", "met"), ("Counted", "counted"), ("Finish", "finish_reason"), ("Error", "error"),
)  # fmt: skip


def sheets(view: View) -> tuple[Sheet, ...]:
    """The sheets that only a load has."""
    if view.serving is None:
        return ()
    scenarios = tuple(dict.fromkeys(column.scenario for column in view.columns))
    return (*(_summary(view, scenario) for scenario in scenarios), _requests(view))


def _summary(view: View, scenario: str) -> Sheet:
    head = ["Engine", view.load_word.capitalize() or "Load", "Requests counted", "Answered"]
    head += [title for title, _ in BY_METRIC]
    for title, _ in LATENCIES:
        head += [f"{title} mean", *(f"{title} p{100 * share:g}" for share in SHARES)]
    head += ["Output speed of one request (tokens/s) mean"]
    rows = tuple(tuple(_row(view, column)) for column in view.columns if column.scenario == scenario)
    return Sheet(name=_sheet_name(f"Summary {scenario}"), head=tuple(head), rows=rows)


def _sheet_name(text: str) -> str:
    """What Excel takes as the name of a sheet: at most 31 characters, none of []:*?/\\."""
    return "".join("-" if letter in "[]:*?/\\" else letter for letter in text)[:31].strip("'")


def _row(view: View, column: Column) -> Iterator[Content]:
    assert view.serving is not None
    own = view.serving.requests.filter(
        (pl.col("configuration") == column.key) & pl.col("counted") & (pl.col("role") == "timed")
    )
    well = own.filter("ok")
    yield from (column.engine, column.load, own.height, well.height)
    for _, name in BY_METRIC:
        row = view.metric(name)
        cell = row.cells.get(column.key) if row is not None else None
        yield (
            None if cell is None else Figure(value=cell.value.value) if isinstance(cell.value, Estimate) else cell.text
        )
    for _, name in LATENCIES:
        values = well[name].drop_nulls()
        yield _number(values.mean())
        yield from (_number(values.quantile(share, "linear")) for share in SHARES)
    yield _number((1.0 / well["tpot_s"].drop_nulls()).mean())


def _number(value: object) -> Content:
    return Figure(value=float(value), style="0.000000") if isinstance(value, int | float) else None


def _requests(view: View) -> Sheet:
    assert view.serving is not None
    rows = view.serving.requests
    first = rows.group_by("launch", maintain_order=True).agg(pl.col("scheduled_ns").min().alias("_first"))
    shown = (
        rows.join(first, on="launch")
        .with_columns(due_s=(pl.col("scheduled_ns") - pl.col("_first")) / 1e9)
        .head(MOST_ROWS)
    )
    names = [name for _, name in REQUEST_COLUMNS if name in shown.columns]
    head = tuple(title for title, name in REQUEST_COLUMNS if name in shown.columns)
    body = tuple(tuple(_cell(value) for value in row) for row in shown.select(names).iter_rows())
    left = rows.height - shown.height
    note = (
        ((f"{left} further requests are in the record and not in this sheet", *(None,) * (len(head) - 1)),)
        if left
        else ()
    )
    return Sheet(name="Requests", head=head, rows=(*body, *note))


def _cell(value: object) -> Content:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str | int | float) else None
