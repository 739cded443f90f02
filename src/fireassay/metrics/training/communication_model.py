"""What does the communication model predict for other worker counts?

T(p) = T1 (s + (1 - s)/p) + c(p): c(p) from the alpha, beta and bytes of the same record, s and T1 fitted to the measured steps.
Sources: Amdahl 1967; Gustafson 1988; Hockney 1994; Patarasuk & Yuan 2009 for the ring. It models rings only, whatever algorithm
the engine uses.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from fireassay.estimates.estimate import Absent, Value
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.communication.communication_model import Wall, held_out, model, of_model, refusal
from fireassay.metrics.metric import ALL, Metric, Results
from fireassay.stats.intervals.intervals import Interval, mean_t
from fireassay.stats.models.communication_wall import FARTHEST, Curve, parameter, predict
from fireassay.units import FRACTION, RATIO, SECONDS, WORKERS

measure = partial(Metric, dimension="performance")


def _step_times(measured: RecordData, _: Results) -> Mapping[str, Value]:
    fitted = model(measured)
    if isinstance(fitted, Absent):
        return dict.fromkeys(measured.configurations, fitted)
    values: dict[str, Value] = {}
    for level, name in zip(measured.levels, measured.configurations, strict=True):
        interval = predict(fitted.fitted, level, measured.confidence, launches=0, others=fitted.others)
        values[name] = of_model(measured, fitted, interval, unit=SECONDS, name="communication_wall", how=f"T({level}) of")
    return values


COMMUNICATION_WALL = measure(
    name="communication_wall",
    title="Step time by the model of communication",
    unit=SECONDS,
    kind="cost",
    better="lower",
    formula="T1 (s + (1 - s)/p) + c(p), c(p) from alpha and beta of the same record",
    compute=_step_times,
    question="How long would a step take at each worker count, by the model of the links?",
    caveat="It assumes a ring; compare the measured step_time.",
    rank=1340,
)


def _error(measured: RecordData, _: Results) -> Mapping[str, Value]:
    held = held_out(measured)
    if isinstance(held, Absent):
        return {ALL: held}
    interval = mean_t(held.errors, measured.confidence)
    how = f"T_model / T - 1 at p = {held.workers}, predicted without it, of"
    return {ALL: of_model(measured, held.rest, interval, unit=FRACTION, name="communication_wall_error", how=how, values=held.errors)}


COMMUNICATION_WALL_ERROR = measure(
    name="communication_wall_error",
    title="Error of the model at the largest p",
    unit=FRACTION,
    kind="ratio",
    better="neither",
    formula="T_model(p) / T(p) - 1 at the largest p, fitted without it",
    compute=_error,
    question="By how much would the model have missed the largest worker count, predicted from the smaller ones?",
    caveat="It needs two smaller counts; a small error does not show that the model holds at larger p.",
    rank=1341,
)


def _trusted(measured: RecordData) -> Wall | Absent:
    """The model, unless it misses the held-out largest worker count."""
    fitted = model(measured)
    return fitted if isinstance(fitted, Absent) else refusal(measured) or fitted


def _fastest(measured: RecordData, _: Results) -> Mapping[str, Value]:
    fitted = _trusted(measured)
    if isinstance(fitted, Absent):
        return {ALL: fitted}
    if measured.mode == "weak":
        return {ALL: Absent("not_applicable", "in weak scaling no step gets shorter")}
    middle = fitted.fitted.middle.fastest()
    every = [curve.fastest() for fit in (fitted.fitted, *fitted.others) for curve in fit.curves]
    if middle is None or any(best is None for best in every):
        return {ALL: Absent("undefined", f"by the model a step gets shorter with every worker, up to {FARTHEST:,.0f}")}
    logs = parameter(fitted.fitted, measured.confidence, lambda curve: math.log(curve.fastest() or 1), fitted.others)
    low, high = (0.0, math.inf) if math.isinf(logs.high) else (math.exp(logs.low), math.exp(logs.high))
    interval = Interval(value=float(middle), low=max(1.0, min(low, middle)), high=max(high, middle))
    return {ALL: of_model(measured, fitted, interval, unit=WORKERS, name="fastest_workers", how="the least T(p) of", at=float(middle))}


FASTEST_WORKERS = measure(
    name="fastest_workers",
    title="Workers of the shortest step",
    unit=WORKERS,
    kind="level",
    better="neither",
    formula="p of the least T1 (s + (1 - s)/p) + c(p)",
    compute=_fastest,
    question="With how many workers is a step shortest?",
    caveat="Beyond twice the largest measured count it is an extrapolation; an engine may change its algorithm before that.",
    rank=1342,
)


def _scaled(measured: RecordData, _: Results) -> Mapping[str, Value]:
    fitted = _trusted(measured)
    if isinstance(fitted, Absent):
        return {ALL: fitted}
    p = fitted.next
    interval = predict(fitted.fitted, p, measured.confidence, launches=fitted.fitted.blocks, others=fitted.others, what=Curve.scaled)
    how = f"(s + (1 - s) p) T1 / (T1 + c(p)) at p = {p} of"
    return {ALL: of_model(measured, fitted, interval, unit=RATIO, name="predicted_scaled_speedup", how=how, at=float(p))}


PREDICTED_SCALED_SPEEDUP = measure(
    name="predicted_scaled_speedup",
    title="Predicted scaled speedup at twice the workers",
    unit=RATIO,
    kind="ratio",
    better="higher",
    formula="(s + (1 - s) p) T1 / (T1 + c(p)) at p = 2 max(p)",
    compute=_scaled,
    question="If the work grew with the workers, how much more would twice the largest measured count do in the same time?",
    caveat="The larger problem is assumed to send no more bytes in a step; in weak scaling all work counts as growing.",
    rank=1343,
)


def _serial_fraction(measured: RecordData, _: Results) -> Mapping[str, Value]:
    fitted = model(measured)
    if isinstance(fitted, Absent):
        return {ALL: fitted}
    if measured.mode == "weak":
        return {ALL: Absent("not_applicable", "in weak scaling serial and parallel work look alike")}
    # Fits of blocks may be negative: clipping them would bias the mean of a small fraction and hide its scatter.
    interval = parameter(fitted.fitted, measured.confidence, lambda curve: curve.free, fitted.others)
    clipped = replace(interval, value=_share(interval.value))
    if math.isfinite(interval.high):
        clipped = Interval(value=clipped.value, low=_share(interval.low), high=_share(interval.high))
    values = tuple(_share(curve.free) for curve in fitted.fitted.curves)
    return {ALL: of_model(measured, fitted, clipped, unit=FRACTION, name="serial_fraction_apart", how="s of", values=values)}


def _share(value: float) -> float:
    return min(1.0, max(0.0, value))


SERIAL_FRACTION_APART = measure(
    name="serial_fraction_apart",
    title="Serial fraction without communication",
    unit=FRACTION,
    kind="level",
    better="lower",
    formula="s of T1 (s + (1 - s)/p) + c(p)",
    compute=_serial_fraction,
    question="What share of a step on one worker does not get shorter, communication excluded?",
    caveat="Serial work looks like anything else that every worker does.",
    rank=1344,
)

METRICS = (COMMUNICATION_WALL, COMMUNICATION_WALL_ERROR, FASTEST_WORKERS, PREDICTED_SCALED_SPEEDUP, SERIAL_FRACTION_APART)
