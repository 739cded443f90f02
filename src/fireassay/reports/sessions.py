"""What does each step of a session take, what the whole session, what do external calls add, and what does a warm cache save?

One table for loads and evaluations whose requests follow each other: a row for each step by its number, for the session, for its parts, and for
requests by what the server's usage says of its cache. Percentiles are those of the metrics: over the counted requests, pooled over launches.
A session's time is from its first turn due to the end of its last answer, tools and thinking included; generation and external calls are its parts.
External calls are the pauses of kind tool and retrieval, as they were asked for (`serving.prompts.tool_s`), not those of real tools.

Cannot tell: what a cache that the server does not report has saved; whether a step was slower for its longer prompt or for its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import polars as pl

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import Scale, scale_for
from fireassay.estimates.over_launches import tail_value
from fireassay.frames.record_data import RecordData
from fireassay.metrics.serving.latency import session_seconds
from fireassay.metrics.serving.pooled import in_series
from fireassay.reports.cell import Cell, Words, number
from fireassay.reports.page import Head, Table, heads
from fireassay.units import FRACTION, NS_PER_S, SECONDS

MOST: Final = 8  # steps with a row of their own
TOOLS: Final = ("tool", "retrieval")
NOT_HERE: Final = Absent("not_applicable", "")
UNREPORTED: Final = (
    "Cold against warm cache: the server's usage reports no cached tokens. Step 1 finds nothing of its session in a cache; later steps may."
)


@dataclass(frozen=True, kw_only=True)
class SessionRow:
    """A step, the session, or a part of it, of one configuration; seconds."""

    configuration: str
    name: str
    count: int
    ttft: Value = NOT_HERE
    ttft_p95: Value = NOT_HERE
    tpot: Value = NOT_HERE
    time: Value
    time_p95: Value
    cached: float | None = None  # share of the prompt tokens; None: not reported


def session_rows(measured: RecordData) -> tuple[SessionRow, ...]:
    """All rows, by configuration; none of a record without a request that follows another in its session."""
    requests = measured.counted_requests
    if not requests.height or not (requests["turn"].fill_null(0) > 0).any():
        return ()
    pauses = measured.table("arrivals").select("launch", "request", "pause_ns", "pause_kind")
    in_tools = pl.when(pl.col("pause_kind").is_in(TOOLS)).then(pl.col("pause_ns") / NS_PER_S).otherwise(0.0)
    joined = requests.filter(pl.col("ok") & pl.col("turn").is_not_null()).join(pauses, on=["launch", "request"], how="left")
    return tuple(_rows(measured, joined.with_columns(in_tools.fill_null(0.0).alias("tool_s"))))


def _rows(measured: RecordData, answered: pl.DataFrame) -> Iterator[SessionRow]:
    sessions = session_seconds(measured)
    for name in measured.configurations:
        mine = answered.filter(pl.col("configuration") == name)
        last = int(mine["turn"].max() or 0)  # type: ignore[arg-type]
        for turn in range(min(last + 1, MOST)):
            yield _of_requests(measured, name, f"step {turn + 1}", mine.filter(pl.col("turn") == turn))
        if last >= MOST:
            yield _of_requests(measured, name, f"steps {MOST + 1} to {last + 1}", mine.filter(pl.col("turn") >= MOST))
        yield from _whole(measured, name, mine, sessions.filter(pl.col("configuration") == name))
        if mine["tokens_cached"].is_not_null().any():
            known = mine.filter(pl.col("tokens_cached").is_not_null())
            yield _of_requests(measured, name, "cold: nothing cached", known.filter(pl.col("tokens_cached") == 0))
            yield _of_requests(measured, name, "warm: part cached", known.filter(pl.col("tokens_cached") > 0))


def _of_requests(measured: RecordData, configuration: str, name: str, rows: pl.DataFrame) -> SessionRow:
    known = rows.filter(pl.col("tokens_cached").is_not_null() & pl.col("tokens_in").is_not_null())
    prompt = float(known["tokens_in"].sum())
    return SessionRow(
        configuration=configuration,
        name=name,
        count=rows.height,
        ttft=_quantile(measured, configuration, rows, "ttft_s", 0.5),
        ttft_p95=_quantile(measured, configuration, rows, "ttft_s", 0.95),
        tpot=_quantile(measured, configuration, rows, "tpot_s", 0.5),
        time=_quantile(measured, configuration, rows, "e2e_s", 0.5),
        time_p95=_quantile(measured, configuration, rows, "e2e_s", 0.95),
        cached=float(known["tokens_cached"].sum()) / prompt if prompt > 0.0 else None,
    )


def _whole(measured: RecordData, configuration: str, rows: pl.DataFrame, sessions: pl.DataFrame) -> Iterator[SessionRow]:
    """The session, and what of it was generation and external calls, of the sessions that are complete."""
    mine = rows.join(sessions.select("launch", "session"), on=["launch", "session"], how="semi")
    parts = mine.group_by("launch", "session", maintain_order=True).agg(
        pl.col("configuration").first(), pl.col("e2e_s").sum().alias("generation"), pl.col("tool_s").sum().alias("tools")
    )
    named = (("session", sessions.rename({"value": "whole"}), "whole"), ("of it generation", parts, "generation"))
    with_tools = parts.filter(pl.col("tools") > 0.0)
    for name, frame, column in (*named, *((("of it external calls", with_tools, "tools"),) if with_tools.height else ())):
        yield SessionRow(
            configuration=configuration,
            name=name,
            count=frame.height,
            time=_quantile(measured, configuration, frame, column, 0.5, "sessions"),
            time_p95=_quantile(measured, configuration, frame, column, 0.95, "sessions"),
        )


def _quantile(measured: RecordData, configuration: str, rows: pl.DataFrame, column: str, p: float, things: str = "requests") -> Value:
    known = rows.filter(pl.col(column).is_not_null()).select("launch", "configuration", pl.col(column).cast(pl.Float64).alias("value"))
    series = in_series(measured, known)[configuration]
    if not series:
        return Absent("not_measured", f"no {things.removesuffix('s')} has it")
    return tail_value(series, p, column, measured.confidence, things, few=True)


# ---- the table -------------------------------------------------------------------------------------------------------

Column = tuple[str, Callable[[SessionRow], Value]]
COLUMNS: Final[tuple[Column, ...]] = (
    ("TTFT p50", lambda row: row.ttft),
    ("TTFT p95", lambda row: row.ttft_p95),
    ("TPOT p50", lambda row: row.tpot),
    ("Time p50", lambda row: row.time),
    ("Time p95", lambda row: row.time_p95),
)


def session_table(rows: tuple[SessionRow, ...], labels: dict[str, str]) -> tuple[Table, ...]:
    """A row for each step, session and part; `labels`: configuration -> its name on the page. Nothing without rows."""
    if not rows:
        return ()
    several = len({row.configuration for row in rows}) > 1
    shown = [column for column in COLUMNS if any(isinstance(column[1](row), Estimate) for row in rows)]
    scales = {name: scale_for(SECONDS, [value.value for row in rows if isinstance(value := of(row), Estimate)]) for name, of in shown}
    cached = any(row.cached is not None for row in rows)
    head = (
        *(heads("Configuration") if several else ()),
        *heads("Part", "Number"),
        *(Head(text=f"{name}, {scales[name].label}") for name, _ in shown),
        *(heads("Cached, %") if cached else ()),
    )
    body = tuple(_cells(row, shown, scales, labels if several else {}, cached) for row in rows)
    notes = (
        "A session's time includes thinking and external calls; generation is the sum of its answers' times.",
        *(() if cached else (UNREPORTED,)),
    )
    return (Table(name="sessions", title="Steps and sessions", heads=head, rows=body, stub=2 if several else 1, notes=notes),)


def _cells(row: SessionRow, shown: list[Column], scales: dict[str, Scale], labels: dict[str, str], cached: bool) -> tuple[Cell, ...]:
    values = (None if (value := of(row)) is NOT_HERE else number(value, scales[name], bare=True) for name, of in shown)
    share = () if not cached else (None if row.cached is None else number(_exact(row), bare=True),)
    stub = (Words(text=labels[row.configuration]),) if labels else ()
    return (*stub, Words(text=row.name), row.count, *values, *share)


def _exact(row: SessionRow) -> Estimate:
    """A share of counted tokens."""
    assert row.cached is not None
    return Estimate(
        value=row.cached, low=row.cached, high=row.cached, unit=FRACTION, confidence=0.95, n_launches=1, n_trials=row.count,
        method="cached prompt tokens / prompt tokens of these requests", signature="cached_share|exact|v:1",
    )  # fmt: skip
