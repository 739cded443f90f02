"""How is a percentile estimated?

The values (steady steps or requests) of all timed launches of a configuration are pooled; the interval comes from the spread
between launches (cluster-Woodruff, `fireassay.stats.intervals.quantiles`). Percentiles of launches are never averaged: in the
tail the average is biased low.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import count, given
from fireassay.stats.intervals.launch_quantiles import between_launches, carried
from fireassay.stats.intervals.quantiles import Tail, cluster_woodruff
from fireassay.units import SECONDS

Series = Sequence[NDArray[np.float64]]


def tail_value(series: Series, p: float, name: str, confidence: float, things: str, unit: str = SECONDS, *, few: bool = False) -> Value:
    """The p-quantile (0..1) of all launches' values, one series per launch in order; Absent if the data do not support it.

    `things` names the values in the plural: "steps", "requests". `few`: if only the launches are too few for an interval from
    pooled ranks, use that of `fireassay.stats.intervals.launch_quantiles`.
    """
    tail = cluster_woodruff(series, p, confidence)
    if tail.insufficient and few and carried(tail, series):
        return _from_launches(tail, series, name, things, unit)
    if tail.insufficient:
        return Absent(reason="insufficient", detail=f"{tail.insufficient} (a trial is a {things.removesuffix('s')})")
    return Estimate(
        value=tail.value,
        low=tail.low,
        high=tail.high,
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
    return Estimate(
        value=interval.value,
        low=interval.low,
        high=interval.high,
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
