"""How are amounts per second, means per request and shares of requests estimated?

Every launch gives a numerator and a denominator (tokens and seconds, hits and requests); the value is the sum of the
numerators over the sum of the denominators, and the interval is Student's t over launches (`fireassay.stats.intervals.means.quotient`);
for shares it is never narrower than for independent requests (`fireassay.stats.intervals.means`).

How is a percentile of requests, or of the gaps between their tokens, estimated?

The answered requests due in the measured window of all timed launches are pooled; the interval comes from the spread between
launches (`fireassay.estimates.over_launches`). Percentiles of launches are never averaged. A failed request has no latency: the method
gives their number, and slo_attainment and goodput count them as misses. Gaps (`fireassay.frames.serving.requests`) are pooled over
all of these requests in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import count
from fireassay.estimates.over_launches import no_launch, of_interval, tail_value
from fireassay.frames.record_data import RecordData
from fireassay.frames.record_tables import once_per_record
from fireassay.frames.serving.client_clocks import APART
from fireassay.frames.serving.requests import WINDOW
from fireassay.frames.serving.shown_tokens import unknown
from fireassay.stats.intervals.intervals import Interval
from fireassay.stats.intervals.means import quotient, share
from fireassay.units import FRACTION

NO_TEXT = "no answer had any text; embeddings and scores have no tokens"
NO_COUNT = "no answer has a second token to time"
ANSWERED = pl.col("ok")


def percentile(measured: RecordData, column: str, p: float, *, name: str, missing: str, only: pl.Expr = ANSWERED) -> Mapping[str, Value]:
    """The p-quantile (0..1) of a column of `Served.requests`, in seconds, per configuration.

    `only` selects from the counted requests; `missing` says why none may be left.
    """
    rows = measured.counted_requests
    chosen = rows.filter(only & pl.col(column).is_not_null())
    series = in_series(measured, chosen.select("launch", "configuration", pl.col(column).alias("value")))
    return {
        configuration: _of_requests(measured, series[configuration], p, name, configuration, missing)
        for configuration in measured.configurations
    }


def gap_percentile(measured: RecordData, p: float, name: str) -> Mapping[str, Value]:
    """The p-quantile (0..1) of the gaps between tokens per configuration, in seconds."""
    return {configuration: _of_gaps(measured, p, name, configuration) for configuration in measured.configurations}


def in_series(measured: RecordData, values: pl.DataFrame) -> dict[str, list[NDArray[np.float64]]]:
    """Per configuration one array per launch that has any, from a frame (launch, configuration, value) in order."""
    series: dict[str, list[NDArray[np.float64]]] = {configuration: [] for configuration in measured.configurations}
    for rows in values.partition_by("launch", maintain_order=True):
        series[rows["configuration"][0]].append(rows["value"].to_numpy())
    return series


def nothing(measured: RecordData, configuration: str, missing: str) -> Absent:
    """Why a configuration has no value: no launch, no measured window, or `missing`."""
    return _unmeasured(measured, configuration) or Absent("not_measured", missing)


@once_per_record
def _unmeasured(measured: RecordData, configuration: str) -> Absent | None:
    """That it has no launch, or no measured window."""
    launches = measured.timed.filter(pl.col("configuration") == configuration)["launch"]
    if len(launches) == 0:
        return no_launch(configuration)
    windows = measured.served.windows.filter(pl.col("launch").is_in(launches.to_list()))
    if set(launches.to_list()) <= measured.served.apart:
        return APART
    if not measured.timeless and windows["seconds"].null_count() == windows.height:
        return Absent(
            "insufficient",
            "no request became due after the warm-up (in a closed loop: after the first wave had ended); increase "
            "--duration (serving.arrivals.duration_s)",
        )
    return None


def spread(evenly: int) -> str:
    """How the chunks' token counts were obtained, in words."""
    if not evenly:
        return "every chunk's tokens are known"
    return f"the tokens of {count(evenly, 'answers')} were spread evenly over their chunks, because no count per chunk is known"


def _of_requests(measured: RecordData, series: list[NDArray[np.float64]], p: float, name: str, configuration: str, missing: str) -> Value:
    if not series:
        return nothing(measured, configuration, _why(measured, configuration) if missing == NO_COUNT else missing)
    value = tail_value(series, p, name, measured.confidence, "requests", few=True)
    return _with_failures(value, measured, configuration)


def _of_gaps(measured: RecordData, p: float, name: str, configuration: str) -> Value:
    launches = measured.timed.filter(pl.col("configuration") == configuration).sort("block")["launch"].to_list()
    gaps = measured.served.gaps
    series = [gaps[launch] for launch in launches if launch in gaps and len(gaps[launch])]
    if not series:
        return nothing(measured, configuration, _why(measured, configuration))
    value = tail_value(series, p, name, measured.confidence, "gaps", few=True)
    value = _with_failures(value, measured, configuration)
    if isinstance(value, Absent):
        return value
    evenly = int(measured.served.windows.filter(pl.col("launch").is_in(launches))["evenly"].sum())
    return replace(value, method=f"{value.method}; {spread(evenly)}")


def _why(measured: RecordData, configuration: str) -> str:
    """Why no answer of a configuration has a time per token."""
    why = unknown(measured.counted_requests.filter(pl.col("ok") & (pl.col("configuration") == configuration)))
    return NO_COUNT if why is None else why.detail


def _with_failures(value: Value, measured: RecordData, configuration: str) -> Value:
    """Add the number of requests without a latency, and the window, to the estimate's method."""
    if not isinstance(value, Estimate):
        return value
    due, failed = _due_and_failed(measured).get(configuration, (0, 0))
    beside = f"{count(failed, 'requests')} of {due:,} due failed and are excluded"
    return replace(value, method=f"{value.method}; {beside}; {WINDOW}")


@once_per_record
def _due_and_failed(measured: RecordData) -> Mapping[str, tuple[int, int]]:
    """The counted requests of each configuration, and how many of them failed."""
    tallied = measured.counted_requests.group_by("configuration").agg(pl.len(), pl.col("ok").sum().alias("good"))
    return {name: (due, due - int(good)) for name, due, good in tallied.iter_rows()}


# ---- rates and ratios ----


@once_per_record
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


def in_window(time_ns: pl.Expr) -> pl.Expr:
    """True if a time lies in the half-open window: of n equal gaps it holds n stamps."""
    return (time_ns >= pl.col("begin_ns")) & (time_ns < pl.col("end_ns"))


def within(measured: RecordData, time_ns: pl.Expr, only: pl.Expr | None = None, amount: pl.Expr | None = None) -> pl.DataFrame:
    """(launch, above): number of the load's requests with this time in their launch's window, or the sum of an amount over them."""
    rows = measured.timed_requests.filter((pl.col("phase") != "cold") & (pl.lit(True) if only is None else only))
    bounds = windows(measured).select("launch", "begin_ns", "end_ns")
    within_window = rows.join(bounds, on="launch").filter(in_window(time_ns))
    summed = (pl.len() if amount is None else amount.sum()).cast(pl.Float64).alias("above")
    return of_every_launch(measured, within_window.group_by("launch").agg(summed))
