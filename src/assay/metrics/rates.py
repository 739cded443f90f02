"""How are amounts per second, means per request and shares of requests formed?  Shared by the serving metrics.

Every launch gives a numerator and a denominator (tokens and seconds, hits and requests); the value is the sum of the
numerators over the sum of the denominators, and the interval is Student's t over launches (`assay.stats.intervals.means.quotient`),
for shares never narrower than independent requests would have it (`assay.stats.intervals.proportions`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from assay.estimates.estimate import Value
from assay.estimates.over_launches import of_interval
from assay.frames.record_data import Measured
from assay.frames.serving.requests import WINDOW
from assay.metrics.latencies import nothing, timed
from assay.stats.intervals.intervals import Interval
from assay.stats.intervals.means import quotient
from assay.stats.intervals.proportions import share
from assay.units import FRACTION


def windows(measured: Measured) -> pl.DataFrame:
    """The rows of `Served.windows` of the timed launches that have a window."""
    own = measured.served.windows.join(measured.timed.select("launch"), on="launch", how="semi")
    return own.filter(pl.col("seconds").is_not_null())


def per_second(measured: Measured, amounts: pl.DataFrame, *, unit: str, name: str, aggregate: str, missing: str) -> dict[str, Value]:
    """Amount per second of the window, from a frame (launch, above); a launch of the frame's that has no row counts as 0."""
    seconds = windows(measured).select("launch", pl.col("seconds").alias("below"))
    rows = seconds.join(of_every_launch(measured, amounts), on="launch")
    return quotients(measured, rows, unit=unit, name=name, aggregate=f"{aggregate} / length of the window", missing=missing)


def of_every_launch(measured: Measured, amounts: pl.DataFrame) -> pl.DataFrame:
    """A frame (launch, above) with a row for every launch that has a window: what it lacks is 0."""
    launches = windows(measured).select("launch")
    return launches.join(amounts, on="launch", how="left").with_columns(pl.col("above").fill_null(0.0))


def quotients(
    measured: Measured,
    rows: pl.DataFrame,
    *,
    unit: str,
    name: str,
    aggregate: str,
    missing: str,
    trials: str = "",
    signed: bool = False,
    nothing_made: bool = False,
) -> dict[str, Value]:
    """Sum over sum per configuration, from a frame (launch, above, below[, trials]); nothing below 0 unless `signed`.

    `nothing_made`: a launch whose denominator is 0 counts with its numerator (it was paid for); it has no value of its own.
    """
    return _over_launches(
        measured, rows, unit, name, aggregate, missing, trials, "quotient" if not signed else "signed", nothing_made=nothing_made
    )


def shares(measured: Measured, rows: pl.DataFrame, *, name: str, aggregate: str, missing: str) -> dict[str, Value]:
    """Hits over trials per configuration, from a frame (launch, above, below)."""
    return _over_launches(measured, rows, FRACTION, name, aggregate, missing, "below", "share")


def _over_launches(
    measured: Measured,
    rows: pl.DataFrame,
    unit: str,
    name: str,
    aggregate: str,
    missing: str,
    trials: str,
    how: str,
    *,
    nothing_made: bool = False,
) -> dict[str, Value]:
    some = pl.col("below") >= 0 if nothing_made else pl.col("below") > 0
    present = rows.filter(pl.col("above").is_not_null() & some)
    joined = measured.timed.select("launch", "configuration", "block").join(present, on="launch").sort("block")
    by_configuration = joined.rows_by_key("configuration", named=True)  # a handful of rows: no query for each
    found: dict[str, Value] = {}
    for configuration in measured.configurations:
        own = by_configuration.get(configuration, [])
        above, below = ([float(row[name]) for row in own] for name in ("above", "below"))
        if sum(below) <= 0:
            found[configuration] = nothing(measured, configuration, missing)
            continue
        made = of_interval(
            _interval(above, below, measured.confidence, how),
            [a / b for a, b in zip(above, below, strict=True) if b > 0],
            measured.confidence,
            unit=unit,
            name=name,
            n_trials=int(sum(row[trials] or 0 for row in own)) if trials else len(own),
            method=f"{aggregate}, sums over {len(own)} launches, Student t between them"
            f"{', never narrower than independent requests (Clopper-Pearson)' if how == 'share' else ''}; {WINDOW}",
            tags=f"agg:{aggregate}|ci:{'t-share' if how == 'share' else 't-quotient'}",
        )
        found[configuration] = replace(made, n_launches=len(own))
    return found


def _interval(above: list[float], below: list[float], confidence: float, how: str) -> Interval:
    if how == "share":
        return share(above, below, confidence)
    found = quotient(above, below, confidence)
    return found if how == "signed" or len(above) == 1 else Interval(value=found.value, low=max(0.0, found.low), high=found.high)


def tally(rows: pl.DataFrame, above: pl.Expr, below: pl.Expr | None = None) -> pl.DataFrame:
    """(launch, above, below): sums per launch of two expressions; `below` defaults to the number of rows."""
    return rows.group_by("launch").agg(above.sum().alias("above"), (pl.len() if below is None else below.sum()).alias("below"))


def all_of(measured: Measured, value: Value) -> Mapping[str, Value]:
    """The same value, usually a reason, for every configuration."""
    return dict.fromkeys(measured.configurations, value)


def streamed(measured: Measured) -> bool:
    """Whether answers were asked for in chunks, so that tokens have times of their own."""
    return measured.experiment.serving is not None and measured.experiment.serving.stream


def within(measured: Measured, time_ns: pl.Expr, only: pl.Expr | None = None, amount: pl.Expr | None = None) -> pl.DataFrame:
    """(launch, above): how many requests of the load have this time in their launch's window, or the sum of an amount of theirs."""
    rows = timed(measured).filter((pl.col("phase") != "cold") & (pl.lit(True) if only is None else only))
    bounds = windows(measured).select("launch", "begin_ns", "end_ns")
    inside = rows.join(bounds, on="launch").filter((time_ns >= pl.col("begin_ns")) & (time_ns < pl.col("end_ns")))
    summed = (pl.len() if amount is None else amount.sum()).cast(pl.Float64).alias("above")
    return of_every_launch(measured, inside.group_by("launch").agg(summed))
