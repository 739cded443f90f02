"""How do per-launch values become an estimate, and how is a percentile estimated?

The launch is the unit of analysis. Times, rates and costs: Student t on the log of one value per launch. Ratios between two
configurations: Student t on the log ratios within each block, so that drift of the machine cancels.

Percentiles: the values (steady steps or requests) of all timed launches of a configuration are pooled; the interval comes from the spread
between launches (cluster-Woodruff, `fireassay.stats.intervals.quantiles`). Percentiles of launches are never averaged: in the
tail the average is biased low.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import count, given
from fireassay.stats.intervals.intervals import Interval, log_t, mean_t
from fireassay.stats.intervals.quantiles import Tail, between_launches, carried, cluster_woodruff
from fireassay.units import FRACTION, SECONDS


def no_launch(configuration: str) -> Absent:
    """No timed launch of this configuration succeeded."""
    return Absent("not_measured", f"no timed launch of {configuration} succeeded; the launches table says why")


def no_logarithm(values: Sequence[float], name: str) -> Absent | None:
    """Why times, rates or costs have no logarithm: they must be above 0, or all 0 (free of charge)."""
    bad = sum(value <= 0.0 for value in values)
    if bad == 0 or not any(values):
        return None
    metric_name = name.partition("|")[0]
    return Absent("refused", f"{bad} of {len(values)} launches give 0 or less for {metric_name}, which is impossible; inspect their rows")


def positive(values: Sequence[float], confidence: float, *, unit: str, aggregate: str, name: str, n_trials: int) -> Estimate:
    """Student t on the logs of positive values. Three or more equal whole numbers are an exact count."""
    if all(value == 0.0 for value in values) or _is_a_count(values):
        how = f"{aggregate}; the same in all {len(values)} launches"
        return exact(values[0], unit=unit, name=name, n_launches=len(values), n_trials=n_trials, how=how)
    return of_interval(
        log_t(values, confidence),
        values,
        confidence,
        unit=unit,
        name=name,
        n_trials=n_trials,
        method=f"Student t on the log of {len(values)} launch values; each is the {aggregate}",
        tags=f"agg:{aggregate}|ci:t-log",
    )


def _is_a_count(values: Sequence[float]) -> bool:
    """Determinism is tested, never assumed: at least 3 launches gave the same whole number (Hoefler & Belli, SC'15, rule 5)."""
    return len(values) >= 3 and len(set(values)) == 1 and values[0] == int(values[0])


def average(values: Sequence[float], confidence: float, *, unit: str, aggregate: str, name: str, n_trials: int) -> Estimate:
    """Student t on the values themselves, for scores and fractions."""
    return of_interval(
        mean_t(values, confidence),
        values,
        confidence,
        unit=unit,
        name=name,
        n_trials=n_trials,
        method=f"Student t on {len(values)} launch values; each is the {aggregate}",
        tags=f"agg:{aggregate}|ci:t",
    )


def of_interval(
    interval: Interval, values: Sequence[float], confidence: float, *, unit: str, name: str, n_trials: int, method: str, tags: str
) -> Estimate:
    """An estimate from an interval."""
    return Estimate.of(
        interval,
        unit=unit,
        confidence=confidence,
        n_launches=len(values),
        n_trials=n_trials,
        method=method,
        signature=f"{name}|{tags}|k:{len(values)}|conf:{confidence:g}|v:1",
        launch_values=tuple(values),
    )


def exact(value: float, *, unit: str, name: str, n_launches: int, n_trials: int, how: str) -> Estimate:
    """A complete count: the interval is the value."""
    return Estimate(
        value=value,
        low=value,
        high=value,
        unit=unit,
        confidence=1.0,
        n_launches=n_launches,
        n_trials=n_trials,
        method=how,
        signature=f"{name}|exact|k:{n_launches}|v:1",
    )


def transform(source: Estimate, function: Callable[[float], float], *, unit: str, name: str, how: str) -> Estimate:
    """A monotone function of an estimate; a decreasing one swaps the ends of the interval."""
    ends = sorted((function(source.low), function(source.high)))
    return Estimate(
        value=function(source.value),
        low=ends[0],
        high=ends[1],
        unit=unit,
        confidence=source.confidence,
        n_launches=source.n_launches,
        n_trials=source.n_trials,
        method=f"{how}; from: {source.method}",
        signature=f"{name}|of:{source.signature}",
        launch_values=tuple(function(v) for v in source.launch_values),
    )


def averaged(values: Sequence[float], confidence: float, *, unit: str = SECONDS, aggregate: str, name: str, n_trials: int) -> Estimate:
    """`average`, with its interval limited to possible times and shares."""
    estimate = average(values, confidence, unit=unit, aggregate=aggregate, name=name, n_trials=n_trials)
    largest = 1.0 if unit == FRACTION else math.inf
    low, high = (max(0.0, estimate.low), min(largest, estimate.high)) if math.isfinite(estimate.low) else (estimate.low, estimate.high)
    return replace(estimate, low=low, high=high)


Series = Sequence[NDArray[np.float64]]


def tail_value(series: Series, p: float, name: str, confidence: float, things: str, unit: str = SECONDS, *, few: bool = False) -> Value:
    """The p-quantile (0..1) of all launches' values, one series per launch in order; Absent if the data do not support it.

    `things` names the values in the plural: "steps", "requests". `few`: if only the launches are too few for an interval from
    pooled ranks, use that of `fireassay.stats.intervals.quantiles`.
    """
    tail = cluster_woodruff(series, p, confidence)
    if tail.insufficient and few and carried(tail, series):
        return _from_launches(tail, series, name, things, unit)
    if tail.insufficient:
        return Absent("insufficient", f"{tail.insufficient} (a trial is a {things.removesuffix('s')})")
    return Estimate.of(
        tail,
        unit=unit,
        confidence=tail.confidence,
        n_launches=tail.k,
        n_trials=tail.n,
        method=_method(tail, things),
        signature=f"{name}|agg:pooled|ci:cluster-woodruff|k:{tail.k}|conf:{tail.confidence:g}|v:1",
        launch_values=tuple(float(np.quantile(values, p)) for values in series),
    )


def _from_launches(tail: Tail, series: Series, name: str, noun: str, unit: str) -> Estimate:
    interval = between_launches(tail, series)
    launches, values = count(tail.k, "launches"), count(tail.n, noun)
    how = "one launch, so no interval" if tail.k < 2 else "interval from Student t on the log of the launches' own quantiles, laid round it"
    return Estimate.of(
        interval,
        unit=unit,
        confidence=tail.confidence,
        n_launches=tail.k,
        n_trials=tail.n,
        method=f"quantile of the {values} of {launches} pooled; {how}",
        signature=f"{name}|agg:pooled|ci:t-log-launch-quantiles|k:{tail.k}|conf:{tail.confidence:g}|v:1",
        launch_values=tuple(float(np.quantile(values, tail.p)) for values in series),
    )


def _method(tail: Tail, noun: str) -> str:
    """The values, the source of the spread, and the effective sample size under dependence."""
    launches, values = count(tail.k, "launches"), count(tail.n, noun)
    return (
        f"quantile of the {values} of {launches} pooled; cluster-Woodruff interval from the spread between launches; "
        f"autocorrelation time tau = {given(tail.tau, 3)} {noun}, so n_eff = {count(int(tail.n_eff))} independent {noun}"
    )
