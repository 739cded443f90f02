"""How far is each engine from the reference, token by token of given texts?  Six numbers, where engines were compared so.

The largest of the replicas stands for an engine with several addresses, so that one wrong replica is not averaged away; the mean of
`top1_agreement` is the smallest.  Means have intervals over items.  A quantile and the largest of fixed positions describe these alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import count
from fireassay.estimates.over_launches import exact
from fireassay.frames.evaluation.forced import Array, Side, compared, sides
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Metric, each
from fireassay.stats.intervals.item_means import of_items
from fireassay.units import FRACTION, RATIO, SCORE

ABOUT: Final = ("evaluation",)
REFERENCE: Final = Absent(reason="not_applicable", detail="the reference: others are measured against it")
UNKNOWN: Final = Absent(reason="not_measured", detail="no text was scored by both it and the reference")
Of = Callable[[Side, float], Value]


def _of(measured: RecordData, name: str, of: Of, smallest: bool) -> Value:
    values = [of(side, measured.confidence) for side in compared(measured, name)]
    known = [value for value in values if isinstance(value, Estimate)]
    if not known:
        return values[0] if values else REFERENCE if name == measured.base else UNKNOWN
    return (min if smallest else max)(known, key=lambda value: value.value)


def _mean(name: str, unit: str, scale: tuple[float, float], of: Callable[[Side], Array]) -> Of:
    """The mean over positions, with an interval over items."""

    def estimate(side: Side, confidence: float) -> Value:
        known = ~np.isnan(of(side))
        values, items = of(side)[known], [item for item, kept in zip(side.items, known, strict=True) if kept]
        if len(set(items)) < 2:
            return Absent(reason="insufficient", detail=f"{count(len(set(items)), 'texts')} carry no interval; compare at least 2")
        interval = of_items(values, np.ones(len(values)), items, scale, confidence)
        return Estimate.of(
            interval,
            unit=unit,
            confidence=confidence,
            n_launches=1,
            n_trials=len(values),
            method=f"mean over {count(len(values), 'tokens')} of {count(len(set(items)), 'items')}: Student t, cluster-robust{_bound(side)}",
            signature=f"{name}|agg:mean over tokens|items:{len(set(items))}|v:1",
        )

    return estimate


def _fixed(name: str, unit: str, of: Callable[[Side], float]) -> Of:
    """A number of exactly these positions."""

    def estimate(side: Side, _: float) -> Value:
        value = of(side)
        if not math.isfinite(value):
            why = "half of the KLs are 0" if value > 0.0 else "no KL is above 0"
            return Absent(reason="undefined", detail=why if side.tail.positions else UNKNOWN.detail)
        how = f"of these {count(side.tail.positions, 'tokens')}{_bound(side)}"
        return exact(value, unit=unit, name=name, n_launches=1, n_trials=side.tail.positions, how=how)

    return estimate


def _bound(side: Side) -> str:
    return "; lower bounds, from the most probable tokens" if side.bound else ""


def _metric(name: str, rank: int, title: str, unit: str, formula: str, of: Of) -> Metric:
    smallest = name == "top1_agreement"
    return Metric(
        name=name,
        title=title,
        unit=unit,
        kind="level",
        better="higher" if smallest else "lower",
        dimension="correctness",
        formula=formula,
        compute=each(lambda measured, configuration: _of(measured, configuration, of, smallest)),
        about=ABOUT,
        requested=lambda measured: bool(sides(measured)),
        primary=False,
        question=f"{title}: how large, against the reference?",
        caveat="A distance of distributions, not quality.",
        rank=rank,
    )


DIVERGING: Final = (
    _metric(
        "kl_mean",
        2010,
        "KL divergence from the reference, nats per token",
        SCORE,
        "mean over tokens of KL(reference || engine)",
        _mean("kl_mean", SCORE, (0.0, math.inf), lambda side: np.maximum(side.kl, 0.0)),
    ),
    _metric(
        "kl_p999",
        2011,
        "KL divergence from the reference, 99.9th percentile",
        SCORE,
        "99.9th percentile over tokens of KL(reference || engine), nats",
        _fixed("kl_p999", SCORE, lambda side: side.tail.p999),
    ),
    _metric(
        "kl_tail_over_median",
        2012,
        "Tail of the KL over its median",
        RATIO,
        "99.9th percentile over tokens of KL / median over tokens of KL",
        _fixed("kl_tail_over_median", RATIO, lambda side: side.tail.local),
    ),
    _metric(
        "kl_max_over_mean",
        2013,
        "Largest KL over the mean",
        RATIO,
        "max over tokens of KL / mean over tokens of KL",
        _fixed("kl_max_over_mean", RATIO, lambda side: side.tail.ratio),
    ),
    _metric(
        "top1_agreement",
        2014,
        "Tokens whose most probable successor agrees",
        FRACTION,
        "tokens at which both find the same token most probable / tokens",
        _mean("top1_agreement", FRACTION, (0.0, 1.0), lambda side: side.same_top),
    ),
    _metric(
        "nll_change",
        2015,
        "Change of the log loss against the reference, nats per token",
        SCORE,
        "mean over tokens of log p(reference) − log p(engine)",
        _mean("nll_change", SCORE, (-math.inf, math.inf), lambda side: side.nll_changes),
    ),
)
