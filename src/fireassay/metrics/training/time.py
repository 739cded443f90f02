"""How long are steps and runs?

A launch's step time is the median over its steady steps of the slowest rank's time; a percentile pools the steady steps of all
timed launches, and its interval comes from the spread between launches of the share of steps above it (cluster-Woodruff).
Throughput is a ratio of sums, never a mean of rates (Hoefler & Belli 2015, rule 3). The autocorrelation time uses Sokal's window
(Sokal 1997).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Final

import polars as pl

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.over_launches import Series, average, no_launch, of_interval, tail_value
from fireassay.frames.per_launch import from_frame
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.lost_time import paces
from fireassay.frames.training.work import MARK_STEPS, steady_series, wall_seconds
from fireassay.metrics.metric import Metric, Results
from fireassay.stats.intervals.autocorrelation import integrated_time
from fireassay.stats.intervals.intervals import log_t
from fireassay.units import FRACTION, NS_PER_S, PER_SECOND, SECONDS, STEPS

measure = partial(Metric, better="lower", dimension="performance")
# Pairs of runs of a step of 0.42 ms, with the probe and without: 2.9 to 4.6 times what its own clock says (0.04 ms). The clock sees neither
# the frames around the hooks nor the caches that they empty.
PAIRED: Final = 5.0
MAX_BOUND: Final = 0.5  # of a step: a larger bound says nothing, and none is given
MIN_STEPS: Final = 20  # with fewer, the window of five autocorrelation times does not fit


def _step_time(measured: RecordData, _: Results) -> Mapping[str, Value]:
    medians = measured.steady_steps.group_by("launch").agg(pl.col("step_s").median().alias("value"), pl.len().alias("steps"))
    return from_frame(
        measured,
        medians,
        unit=SECONDS,
        name="step_time",
        missing=MARK_STEPS,
        trials="steps",
        aggregate="median over steady steps of the slowest rank's time",
    )


STEP_TIME = measure(
    name="step_time",
    title="Step time",
    unit=SECONDS,
    kind="cost",
    formula="median over steps of max over ranks (end - begin - checkpoint)",
    compute=_step_time,
    primary=True,
    question="How long does a training step take?",
    caveat="It does not separate communication from computation where they overlap.",
    rank=1210,
    decides=2,
)


def _step_mean(measured: RecordData, _: Results) -> Mapping[str, Value]:
    found = {str(name): rows for (name,), rows in paces(measured).partition_by("configuration", as_dict=True).items()}
    return {name: _mean_of(measured, name, found.get(name)) for name in measured.configurations}


def _mean_of(measured: RecordData, configuration: str, rows: pl.DataFrame | None) -> Value:
    if rows is None:
        return _no_steps(measured, configuration)
    how, n = "mean over steady steps of the rank with the longest mean", int(rows["n"].sum())
    return average(rows["mean_s"].to_list(), measured.confidence, unit=SECONDS, name="step_time_mean", n_trials=n, aggregate=how)


STEP_TIME_MEAN = measure(
    name="step_time_mean",
    title="Mean step time",
    unit=SECONDS,
    kind="cost",
    formula="max over ranks of mean over steps (end - begin - checkpoint)",
    compute=_step_mean,
    question="How long does a training step take on average, with what few steps pay?",
    caveat="One long step moves it; speedups compare the median.",
    rank=1218,
)


def _percentile(measured: RecordData, _: Results, *, percent: int) -> Mapping[str, Value]:
    name = f"step_time_p{percent}"
    return {
        configuration: tail_value(series, percent / 100, name, measured.confidence, "steps")
        if series
        else _no_steps(measured, configuration)
        for configuration, series in steady_series(measured).items()
    }


def _no_steps(measured: RecordData, configuration: str) -> Absent:
    if configuration not in measured.timed["configuration"]:
        return no_launch(configuration)
    return Absent("not_measured", MARK_STEPS)


STEP_TIME_P50, STEP_TIME_P95, STEP_TIME_P99 = (
    measure(
        name=f"step_time_p{percent}",
        title=f"Step time, p{percent}",
        unit=SECONDS,
        kind="level",
        formula=f"{percent / 100:.2f}-quantile of step_time over the pooled steady steps",
        compute=partial(_percentile, percent=percent),
        question=f"Which step time do {percent} % of the steps not exceed?",
        caveat="It does not say what slow steps waited for. A launch with more steps weighs more.",
        rank=rank,
    )
    for rank, percent in enumerate((50, 95, 99), 1211)
)


def _autocorrelation(measured: RecordData, _: Results) -> Mapping[str, Value]:
    return {name: _integrated(measured, name, series) for name, series in steady_series(measured).items()}


def _integrated(measured: RecordData, configuration: str, series: Series) -> Value:
    if configuration not in measured.timed["configuration"] or not series:
        return _no_steps(measured, configuration)
    shortest = min(map(len, series))
    if shortest < MIN_STEPS:
        return Absent("insufficient", f"autocorrelation needs at least {MIN_STEPS} steady steps in each launch; a launch has {shortest}")
    times = [integrated_time([steps]) for steps in series]
    aggregate = "integrated autocorrelation time of the steady steps"
    return of_interval(
        log_t(times, measured.confidence),
        times,
        measured.confidence,
        unit=STEPS,
        name="step_autocorrelation",
        n_trials=sum(map(len, series)),
        tags=f"agg:{aggregate}|ci:t-log",
        method=f"Student t on the log of {len(times)} launch values; each is the {aggregate}",
    )


STEP_AUTOCORRELATION = measure(
    name="step_autocorrelation",
    title="Step autocorrelation",
    unit=STEPS,
    kind="level",
    better="neither",
    formula="1 + 2 sum of autocorrelations of step_time, Sokal's window of 5",
    compute=_autocorrelation,
    question="How many successive steps are worth one independent step?",
    caveat="It misses a memory longer than the launch; a percentile's effective sample size rests on exceedances instead.",
    rank=1214,
)


def _throughput(measured: RecordData, _: Results) -> Mapping[str, Value]:
    rates = (
        measured.steady_steps.filter(pl.col("items").is_not_null())
        .group_by("launch")
        .agg((pl.col("items").sum() / pl.col("step_s").sum()).alias("value"), pl.len().alias("steps"))
    )
    return from_frame(
        measured,
        rates,
        unit=PER_SECOND,
        name="throughput",
        trials="steps",
        missing="the script did not report the items of a step; call probe.log(items=n)",
        aggregate="items of all ranks / time of the steady steps",
    )


THROUGHPUT = measure(
    name="throughput",
    title="Throughput",
    unit=PER_SECOND,
    kind="rate",
    better="higher",
    formula="sum items / sum step_time over steady steps",
    compute=_throughput,
    primary=True,
    question="How much work do all ranks do per second in steady state?",
    caveat="Start-up, evaluation and checkpoints are left out.",
    rank=1215,
    decides=1,
)


def _wall_time(measured: RecordData, _: Results) -> Mapping[str, Value]:
    return from_frame(measured, wall_seconds(measured), unit=SECONDS, name="wall_time", missing="no launch ended", aggregate="whole launch")


WALL_TIME = measure(
    name="wall_time",
    title="Wall time of a run",
    unit=SECONDS,
    kind="cost",
    formula="end - begin of the launch",
    compute=_wall_time,
    primary=True,
    question="How long does a whole run take, from the launcher's start to the end of its last process?",
    caveat="It does not say how long a run with more steps would take.",
    rank=1216,
    decides=4,
)


def _overhead(measured: RecordData, _: Results) -> Mapping[str, Value]:
    telemetry = measured.table("telemetry")
    readings = telemetry.filter((pl.col("device") == "probe") & (pl.col("counter") == "cost_per_step"))
    cost = readings.group_by("launch").agg((pl.col("value").max() / NS_PER_S).alias("cost_s"))
    steps = measured.steady_steps.group_by("launch").agg(pl.col("step_s").median().alias("median_s"))
    share = cost.join(steps, on="launch").select("launch", (pl.col("cost_s") / pl.col("median_s")).alias("value"))
    found = from_frame(
        measured,
        share.filter(pl.col("value") > 0),
        unit=FRACTION,
        name="instrument_overhead",
        missing="no steps were recorded to compare it with",
        aggregate="slowest rank's self-measured cost per step / median step time",
    )
    return {name: _bounded(value) if isinstance(value, Estimate) else value for name, value in found.items()}


def _bounded(value: Estimate) -> Estimate:
    high = max(value.high, PAIRED * value.value)
    known = high <= MAX_BOUND
    words = (
        f"; the upper bound is {PAIRED:g} times that, more than pairs of runs with and without the probe differed by"
        if known
        else "; its own clock sees neither call frames nor caches, and no useful bound of them is known for steps this short"
    )
    return replace(value, high=high if known else math.inf, method=value.method + words)


INSTRUMENT_OVERHEAD = measure(
    name="instrument_overhead",
    title="Cost of measuring",
    unit=FRACTION,
    kind="ratio",
    formula="probe cost per step / step_time",
    compute=_overhead,
    question="What share of a step is the probe's own cost?",
    caveat="The value is self-measured, on marked steps or by the hooks of an unmodified script; effects on caches are in the upper bound only.",
    rank=1217,
)
METRICS = (
    STEP_TIME,
    STEP_TIME_MEAN,
    STEP_TIME_P50,
    STEP_TIME_P95,
    STEP_TIME_P99,
    STEP_AUTOCORRELATION,
    THROUGHPUT,
    WALL_TIME,
    INSTRUMENT_OVERHEAD,
)
