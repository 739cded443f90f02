"""How are amounts per second, means per request and shares of requests estimated?

Every launch gives a numerator and a denominator (tokens and seconds, hits and requests); the value is the sum of the
numerators over the sum of the denominators, and the interval is Student's t over launches (`fireassay.stats.intervals.means.quotient`);
for shares it is never narrower than for independent requests (`fireassay.stats.intervals.proportions`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from fireassay.estimates.estimate import Value
from fireassay.estimates.over_launches import of_interval
from fireassay.frames.record_data import RecordData
from fireassay.frames.serving.requests import WINDOW
from fireassay.metrics.serving.support.percentiles import nothing
from fireassay.stats.intervals.intervals import Interval
from fireassay.stats.intervals.means import quotient
from fireassay.stats.intervals.proportions import share
from fireassay.units import FRACTION


def windows(measured: RecordData) -> pl.DataFrame:
    """The rows of `Served.windows` of the timed launches that have a window."""
    timed = measured.served.windows.join(measured.timed.select("launch"), on="launch", how="semi")
    return timed.filter(pl.col("seconds").is_not_null())


def per_second(measured: RecordData, amounts: pl.DataFrame, *, unit: str, name: str, aggregate: str, missing: str) -> dict[str, Value]:
    """Amount per second of the window, from a frame (launch, above); a launch without a row in it counts as 0."""
    seconds = windows(measured).select("launch", pl.col("seconds").alias("below"))
    rows = seconds.join(of_every_launch(measured, amounts), on="launch")
    return quotients(measured, rows, unit=unit, name=name, aggregate=f"{aggregate} / length of the window", missing=missing)


def of_every_launch(measured: RecordData, amounts: pl.DataFrame) -> pl.DataFrame:
    """A frame (launch, above) with a row for every launch with a window; missing amounts are 0."""
    launches = windows(measured).select("launch")
    return launches.join(amounts, on="launch", how="left").with_columns(pl.col("above").fill_null(0.0))


def quotients(
    measured: RecordData,
    rows: pl.DataFrame,
    *,
    unit: str,
    name: str,
    aggregate: str,
    missing: str,
    trials: str = "",
    nothing_made: bool = False,
) -> dict[str, Value]:
    """Sum over sum per configuration, from a frame (launch, above, below[, trials]), never below 0.

    `nothing_made`: a launch with denominator 0 contributes its numerator (it was paid for), but has no value of its own.
    """
    over = _Over(unit=unit, name=name, aggregate=aggregate, missing=missing, trials=trials, nothing_made=nothing_made)
    return _over_launches(measured, rows, over)


def shares(measured: RecordData, rows: pl.DataFrame, *, name: str, aggregate: str, missing: str) -> dict[str, Value]:
    """Hits over trials per configuration, from a frame (launch, above, below)."""
    over = _Over(unit=FRACTION, name=name, aggregate=aggregate, missing=missing, trials="below", is_share=True)
    return _over_launches(measured, rows, over)


@dataclass(frozen=True, kw_only=True)
class _Over:
    """Numerator and denominator of a quotient in words, and the method of its interval."""

    unit: str
    name: str
    aggregate: str
    missing: str
    trials: str = ""  # the column that counts trials; empty: launches
    is_share: bool = False
    nothing_made: bool = False

    def interval(self, above: list[float], below: list[float], confidence: float) -> Interval:
        if self.is_share:
            return share(above, below, confidence)
        estimate = quotient(above, below, confidence)
        return estimate if len(above) == 1 else Interval(value=estimate.value, low=max(0.0, estimate.low), high=estimate.high)

    def method(self, launches: int) -> str:
        floor = ", never narrower than independent requests (Clopper-Pearson)" if self.is_share else ""
        return f"{self.aggregate}, sums over {launches} launches, Student t between them{floor}; {WINDOW}"


def _over_launches(measured: RecordData, rows: pl.DataFrame, over: _Over) -> dict[str, Value]:
    countable = pl.col("below") >= 0 if over.nothing_made else pl.col("below") > 0
    present = rows.filter(pl.col("above").is_not_null() & countable)
    joined = measured.timed.select("launch", "configuration", "block").join(present, on="launch").sort("block")
    by_configuration = joined.rows_by_key("configuration", named=True)  # a handful of rows: a query per row would cost more
    return {name: _value(measured, name, by_configuration.get(name, []), over) for name in measured.configurations}


def _value(measured: RecordData, configuration: str, launches: Sequence[Mapping[str, Any]], over: _Over) -> Value:
    above, below = ([float(row[side]) for row in launches] for side in ("above", "below"))
    if sum(below) <= 0:
        return nothing(measured, configuration, over.missing)
    estimate = of_interval(
        over.interval(above, below, measured.confidence),
        [a / b for a, b in zip(above, below, strict=True) if b > 0],
        measured.confidence,
        unit=over.unit,
        name=over.name,
        n_trials=int(sum(row[over.trials] or 0 for row in launches)) if over.trials else len(launches),
        method=over.method(len(launches)),
        tags=f"agg:{over.aggregate}|ci:{'t-share' if over.is_share else 't-quotient'}",
    )
    return replace(estimate, n_launches=len(launches))


def tally(rows: pl.DataFrame, above: pl.Expr, below: pl.Expr | None = None) -> pl.DataFrame:
    """(launch, above, below): sums per launch of two expressions; `below` defaults to the number of rows."""
    return rows.group_by("launch").agg(above.sum().alias("above"), (pl.len() if below is None else below.sum()).alias("below"))


def within(measured: RecordData, time_ns: pl.Expr, only: pl.Expr | None = None, amount: pl.Expr | None = None) -> pl.DataFrame:
    """(launch, above): number of the load's requests with this time in their launch's window, or the sum of an amount over them."""
    rows = measured.timed_requests.filter((pl.col("phase") != "cold") & (pl.lit(True) if only is None else only))
    bounds = windows(measured).select("launch", "begin_ns", "end_ns")
    within_window = rows.join(bounds, on="launch").filter((time_ns >= pl.col("begin_ns")) & (time_ns < pl.col("end_ns")))
    summed = (pl.len() if amount is None else amount.sum()).cast(pl.Float64).alias("above")
    return of_every_launch(measured, within_window.group_by("launch").agg(summed))
