"""What does each step of a session take, what the whole session, what do external calls add, and what does a warm cache save?

One table for loads and evaluations whose requests follow each other: a row for each step by its number, for the session, for its parts, and for
requests by what the server's usage says of its cache. Percentiles of a load are those of the metrics: over the counted requests, pooled over
launches. Of an evaluation the items are the sample: order statistics over all of its requests.
A session's time is from its first turn due to the end of its last answer, tools and thinking included; generation and external calls are its parts.
External calls are the pauses of kind tool and retrieval, as requested (`serving.prompts.tool_s`), not those of real tools.

Cannot tell: what a cache that the server does not report has saved; whether a step was slower for its longer prompt or for its place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import polars as pl

from fireassay.estimates.estimate import Absent, Value
from fireassay.estimates.over_items import quantile
from fireassay.estimates.over_launches import tail_value
from fireassay.frames.record_data import RecordData
from fireassay.metrics.serving.latency import session_seconds
from fireassay.metrics.serving.pooled import in_series
from fireassay.units import NS_PER_S

MOST: Final = 8  # steps with a row of their own
TOOLS: Final = ("tool", "retrieval")
NOT_HERE: Final = Absent("not_applicable", "")


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
    requests = _requests(measured)
    if not requests.height or not (requests["turn"].fill_null(0) > 0).any():
        return ()
    pauses = measured.table("arrivals").select("launch", "request", "pause_ns", "pause_kind")
    in_tools = pl.when(pl.col("pause_kind").is_in(TOOLS)).then(pl.col("pause_ns") / NS_PER_S).otherwise(0.0)
    joined = requests.filter(pl.col("ok") & pl.col("turn").is_not_null()).join(pauses, on=["launch", "request"], how="left")
    return tuple(_rows(measured, joined.with_columns(in_tools.fill_null(0.0).alias("tool_s"))))


def _requests(measured: RecordData) -> pl.DataFrame:
    """The counted ones; of an evaluation all, since each item counts."""
    return measured.counted_requests if measured.experiment.evaluation is None else measured.timed_requests


def _rows(measured: RecordData, answered: pl.DataFrame) -> Iterator[SessionRow]:
    sessions = session_seconds(measured, every=measured.experiment.evaluation is not None)
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
    if measured.experiment.evaluation is not None:
        return quantile(known["value"].to_numpy(), p, measured.confidence, name=column, things=things)
    series = in_series(measured, known)[configuration]
    if not series:
        return Absent("not_measured", f"no {things.removesuffix('s')} has it")
    return tail_value(series, p, column, measured.confidence, things, few=True)
