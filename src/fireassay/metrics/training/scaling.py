"""How much faster is training with more workers, and which law explains it?

Speedups are ratios of times per unit of work within each block; method and signature state the basis, the base and its absolute
time (Hoefler & Belli 2015, rule 1). Laws: Amdahl 1967; Gustafson 1988; Karp & Flatt 1990; the Universal Scalability Law of
Gunther 1993, X(N) = gamma N / (1 + alpha (N - 1) + beta N (N - 1)), fitted to the throughput of every launch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import mul

import numpy as np
import polars as pl

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import count, given
from fireassay.estimates.over_launches import exact, no_launch, of_interval, transform
from fireassay.frames.per_launch import in_blocks
from fireassay.frames.record_data import RecordData, same_total
from fireassay.frames.training.communication.communication_model import NEXT, POINTS, model, of_model
from fireassay.frames.training.communication.communication_model import refusal as of_miss
from fireassay.frames.training.parallelism import absent
from fireassay.frames.training.scaling_points import bounded, chosen, estimate, laws_of, of_parameter, refusal, throughputs, usl
from fireassay.frames.training.work import seconds_per_work, time_basis, wall_per_work, wall_seconds
from fireassay.metrics.metric import ALL, Metric, Results
from fireassay.stats.intervals.intervals import paired_log_ratio
from fireassay.stats.models.communication_wall import Curve, predict
from fireassay.stats.models.scaling_laws import Refused, fit
from fireassay.stats.models.scaling_predictions import (
    amdahl_fit,
    amdahl_fit_interval,
    band,
    ceiling,
    gustafson,
    held_out,
    karp_flatt,
    peak,
    relative_curve,
    slower_than_base,
)
from fireassay.stats.models.scaling_predictions import predict as by_law
from fireassay.units import FRACTION, RATIO, WORKERS

measure = partial(Metric, dimension="performance")


def _for_all(value: Callable[[RecordData], Value]) -> Callable[[RecordData, Results], Mapping[str, Value]]:
    """One value for the whole experiment."""
    return lambda measured, _: {ALL: value(measured)}


def _speedup(measured: RecordData, _: Results) -> Mapping[str, Value]:
    basis = time_basis(measured)
    values = seconds_per_work(measured) if basis == "step" else wall_per_work(measured)
    return {name: _paired(measured, values, name, basis, "speedup") for name in measured.configurations}


def _paired(measured: RecordData, values: pl.DataFrame, configuration: str, basis: str, name: str) -> Value:
    """T(base) / T(configuration) over the blocks with both."""
    if (reason := absent(measured, configuration, "speedup")) is not None:
        return reason
    base = in_blocks(measured, values, measured.base)
    times = in_blocks(measured, values, configuration)
    blocks = sorted(base.keys() & times.keys())
    if not times:
        return _no_times(measured, configuration, basis)
    if configuration == measured.base:
        how = f"1 by definition: this is the base, {basis} time"
        return exact(1.0, unit=RATIO, name=name, n_launches=len(times), n_trials=len(times), how=how)
    if not blocks:
        return Absent("insufficient", f"no round holds a launch of both {measured.base} and {configuration}")
    if not all(0.0 < value < math.inf for value in (*base.values(), *times.values())):
        return Absent("refused", f"a {basis} time of 0 or less, or without work, which is impossible; check the rows")
    return of_interval(
        paired_log_ratio([base[b] for b in blocks], [times[b] for b in blocks], measured.confidence),
        [base[b] / times[b] for b in blocks],
        measured.confidence,
        unit=RATIO,
        name=name,
        n_trials=len(blocks) * 2,
        method=f"Student t on the log ratio of {len(blocks)} rounds, {basis} time, relative to {measured.base}",
        tags=f"basis:{basis}|base:{measured.base}|ci:t-log-paired",
    )


def _no_times(measured: RecordData, configuration: str, basis: str) -> Absent:
    if measured.timed.filter(pl.col("configuration") == configuration).height == 0:
        return no_launch(configuration)
    return Absent("not_measured", f'no {basis} times of {configuration}; mark the steps or use scaling.time = "wall"')


SPEEDUP = measure(
    name="speedup",
    title="Speedup",
    unit=RATIO,
    kind="ratio",
    better="higher",
    formula="S(p) = T(base) / T(p) per unit of work, paired by round",
    compute=_speedup,
    primary=True,
    question="How much faster is the same work done than with the base configuration?",
    caveat="It does not say whether the base itself was as fast as possible.",
    rank=1200,
)


def _efficiency(measured: RecordData, results: Results) -> Mapping[str, Value]:
    base = measured.experiment.base_level
    efficiencies: dict[str, Value] = {}
    for level, name in zip(measured.levels, measured.configurations, strict=True):
        speedup, share = results["speedup"][name], partial(mul, base / level)
        efficiencies[name] = (
            speedup
            if isinstance(speedup, Absent)
            else transform(speedup, share, unit=FRACTION, name="efficiency", how=f"speedup x {base}/{level}")
        )
    return efficiencies


EFFICIENCY = measure(
    name="efficiency",
    title="Parallel efficiency",
    unit=FRACTION,
    kind="ratio",
    better="higher",
    formula="E(p) = S(p) base / p",
    compute=_efficiency,
    primary=True,
    question="How well is each worker used, compared with the base configuration?",
    caveat="Above 1: a weak base, or caches that suddenly suffice.",
    band=band,
    rank=1201,
)


def _speedup_wall(measured: RecordData, _: Results) -> Mapping[str, Value]:
    """Only for runs with the same work: strong scaling, or epochs of the same data."""
    if measured.mode == "weak" and not (measured.experiment.scaling.mode == "auto" and same_total(measured.global_steps, measured.timed)):
        absent_value = Absent("not_applicable", "in weak scaling the runs do different amounts of work")
        return dict.fromkeys(measured.configurations, absent_value)
    values = wall_seconds(measured)
    return {name: _paired(measured, values, name, "wall", "speedup_wall") for name in measured.configurations}


SPEEDUP_WALL = measure(
    name="speedup_wall",
    title="Speedup of the whole run",
    unit=RATIO,
    kind="ratio",
    better="higher",
    formula="wall_time(base) / wall_time(p), paired by round",
    compute=_speedup_wall,
    question="How much sooner does the whole run end than with the base configuration?",
    caveat="It includes start-up, rendezvous, evaluation and checkpoints: in short runs it is far below the steady-state speedup.",
    rank=1300,
)


def _serial_fraction(measured: RecordData, results: Results) -> Mapping[str, Value]:
    if (refused := _no_amdahl(measured)) is not None:
        return {ALL: refused}
    above = [level for level in measured.levels if level > 1]
    speedups = _speedups_per_block(measured, above)
    if not speedups:
        return {ALL: Absent("insufficient", "no round holds a launch of every configuration")}
    fits = [amdahl_fit(above, row) for row in speedups]  # the dots in the charts
    levels = sum(1 for value in results["speedup"].values() if isinstance(value, Estimate))
    interval = amdahl_fit_interval(above, np.array(speedups), measured.confidence)
    if slower := slower_than_base(interval.value):
        return {ALL: Absent("undefined", slower)}
    found = of_interval(
        interval,
        fits,
        measured.confidence,
        unit=FRACTION,
        name="serial_fraction",
        n_trials=len(fits) * levels,
        method=f"Student t on Amdahl fits of {len(fits)} rounds",
        tags=f"fit:least-squares|basis:{time_basis(measured)}|ci:t",
    )
    return {ALL: _at_most_all(found)}


def _at_most_all(serial: Estimate) -> Estimate:
    """The interval without what no serial fraction can be: more than all of the time. A negative end is a superlinear speedup."""
    return replace(serial, high=1.0) if 1.0 < serial.high < math.inf else serial


def _no_amdahl(measured: RecordData) -> Absent | None:
    if measured.experiment.base_level != 1:
        return Absent("not_applicable", "Amdahl's law needs speedups over one worker")
    if measured.mode == "weak":
        return Absent("not_applicable", "Amdahl's law describes strong scaling")
    if len(measured.levels) < 2:
        return Absent("insufficient", "a fit needs at least one worker count besides the base")
    return None


def _speedups_per_block(measured: RecordData, above: Sequence[int]) -> list[list[float]]:
    """One row per block with every configuration, one speedup per level above 1."""
    values = seconds_per_work(measured) if time_basis(measured) == "step" else wall_seconds(measured)
    times = {level: in_blocks(measured, values, name) for level, name in zip(measured.levels, measured.configurations, strict=True)}
    shared_blocks = set.intersection(*map(set, times.values()))
    blocks = sorted(block for block in shared_blocks if all(by_block[block] > 0.0 for by_block in times.values()))
    rows = [[times[1][block] / times[level][block] for level in above] for block in blocks]
    return [row for row in rows if all(0.0 < speedup < math.inf for speedup in row)]  # a step with almost no work has none


SERIAL_FRACTION = measure(
    name="serial_fraction",
    title="Amdahl serial fraction",
    unit=FRACTION,
    kind="level",
    better="lower",
    formula="s from (1/S - 1/p) = s (1 - 1/p)",
    compute=_serial_fraction,
    primary=True,
    question="What part of the work does not get faster with more workers?",
    caveat="It counts communication and imbalance as serial work; karp_flatt separates them.",
    rank=1301,
)


def _ceiling(_: RecordData, results: Results) -> Mapping[str, Value]:
    serial = results["serial_fraction"][ALL]
    if isinstance(serial, Absent):
        return {ALL: serial}
    if serial.value <= 0.0:
        return {ALL: Absent("undefined", "the fitted serial fraction is not positive: the data show no ceiling")}
    return {ALL: transform(serial, ceiling, unit=RATIO, name="amdahl_ceiling", how="1/s")}


AMDAHL_CEILING = measure(
    name="amdahl_ceiling",
    title="Amdahl ceiling",
    unit=RATIO,
    kind="level",
    better="higher",
    formula="1 / s",
    compute=_ceiling,
    question="What is the highest possible speedup, if the fitted serial fraction holds?",
    caveat="A serial fraction whose interval reaches 0 bounds the ceiling from below only.",
    rank=1302,
)
USL_PARAMETERS = (  # name, title, unit, parameter, question, caveat
    (
        "usl_contention",
        "USL contention",
        FRACTION,
        "alpha",
        "What share of the work can only one worker at a time do?",
        "It needs four worker counts and does not say which resource they wait for; with beta = 0 it is Amdahl's serial fraction.",
    ),
    (
        "usl_coherency",
        "USL coherency",
        RATIO,
        "beta",
        "What does it cost to keep every pair of workers consistent?",
        "It needs four worker counts; 0 is on its bound: the data show no such cost, and no peak.",
    ),
)


def _usl_parameter(measured: RecordData, *, parameter: str, metric: str, unit: str) -> Value:
    fitted = usl(measured)
    return fitted if isinstance(fitted, Absent) else of_parameter(measured, *fitted, parameter, metric=metric, unit=unit)


USL_CONTENTION, USL_COHERENCY = (
    measure(
        name=name,
        title=title,
        unit=unit,
        kind="level",
        better="lower",
        formula=f"{parameter} of X(N) = gamma N / (1 + alpha (N-1) + beta N (N-1))",
        compute=_for_all(partial(_usl_parameter, parameter=parameter, metric=name, unit=unit)),
        question=question,
        caveat=caveat,
        rank=rank,
    )
    for rank, (name, title, unit, parameter, question, caveat) in enumerate(USL_PARAMETERS, 1303)
)


def _usl_peak(measured: RecordData) -> Value:
    fitted = usl(measured)
    if isinstance(fitted, Absent):
        return fitted
    top = peak(*fitted)
    if isinstance(top, Refused):
        return refusal(top)
    ends = (top.workers.value, top.workers.low, top.workers.high)
    how = f"sqrt((1 - alpha)/beta) of the Universal Scalability Law; {top.sentence}"
    return estimate(measured, *fitted, ends, metric="usl_peak", unit=WORKERS, how=how)


USL_PEAK = measure(
    name="usl_peak",
    title="Workers at the peak",
    unit=WORKERS,
    kind="level",
    better="neither",
    formula="sqrt((1 - alpha)/beta), where measured counts beyond it show the fall",
    compute=_for_all(_usl_peak),
    question="With how many workers is throughput highest?",
    caveat="Named only if two measured counts lie beyond it and throughput falls significantly there.",
    rank=1305,
)


def _scaled_speedup(measured: RecordData) -> Value:
    if measured.mode != "weak":
        return Absent("not_applicable", "Gustafson's law describes weak scaling")
    if measured.experiment.base_level != 1:
        return Absent("not_applicable", "Gustafson's law needs a base of one worker")
    data = throughputs(measured)
    if isinstance(data, Absent):
        return data
    if len(data.workers) - data.spent < 3:
        return Absent("insufficient", "a fit with an interval needs more worker counts or rounds")
    law, p = fit("gustafson", data, measured.confidence), data.levels[-1]
    serial = law.parameter("serial")
    ends = (gustafson(serial.value, p), gustafson(serial.high, p), gustafson(serial.low, p))
    how = f"p - s (p - 1) at p = {p:g}, s = {serial.value:.4g} of Gustafson's law"
    return estimate(measured, law, data, ends, metric="scaled_speedup", unit=RATIO, how=how)


SCALED_SPEEDUP = measure(
    name="scaled_speedup",
    title="Scaled speedup",
    unit=RATIO,
    kind="ratio",
    better="higher",
    formula="p - s (p - 1), s from X(p) = gamma (p - s (p - 1))",
    compute=_for_all(_scaled_speedup),
    question="How much more work do more workers do in the same time, if work grows with them?",
    caveat="For weak scaling only, at the largest measured p; communication that grows no faster than the workers counts as serial.",
    rank=1306,
)


def _held_out_error(measured: RecordData) -> Value:
    data = throughputs(measured)
    if isinstance(data, Absent):
        return data
    held = held_out(data, laws=laws_of(measured), confidence=measured.confidence)
    if isinstance(held, Refused):
        return refusal(held)
    blocks = data.spent + 1
    value, low, high = bounded((held.error.value, held.error.low, held.error.high), blocks)
    return Estimate(
        value=value,
        low=low,
        high=high,
        unit=FRACTION,
        confidence=measured.confidence,
        n_launches=blocks,
        n_trials=len(data.workers),
        method=f"predicted over measured throughput at p = {held.workers:g}, less 1; fitted without it: {held.sentence}; "
        f"interval of the fit and of {count(blocks, 'launches')} there",
        signature=f"held_out_error|law:{held.law}|p:{held.workers:g}|basis:{time_basis(measured)}|ci:t|k:{blocks}"
        f"|conf:{measured.confidence:g}|v:1",
    )


HELD_OUT_ERROR = measure(
    name="held_out_error",
    title="Error of predicting the largest p",
    unit=FRACTION,
    kind="ratio",
    better="neither",
    formula="X_fit(p) / X(p) - 1 at the largest p, fitted without it",
    compute=_for_all(_held_out_error),
    question="By how much would a law fitted to the smaller worker counts have missed the largest?",
    caveat="The law is chosen by AICc and needs three smaller counts; a small error does not show that it holds at larger p.",
    rank=1307,
)


def _karp_flatt(measured: RecordData, results: Results) -> Mapping[str, Value]:
    levels = zip(measured.levels, measured.configurations, strict=True)
    return {name: _fraction_at(measured.experiment.base_level, level, results["speedup"][name]) for level, name in levels}


def _fraction_at(base: int, level: int, speedup: Value) -> Value:
    if base != 1:
        return Absent("not_applicable", "defined only for speedups over one worker")
    if level == 1:
        return Absent("not_applicable", "undefined at one worker")
    if isinstance(speedup, Absent):
        return speedup
    if speedup.low <= 0.0:
        return Absent("insufficient", "one round does not bound the speedup; use at least 2 launches")
    if slower := slower_than_base(karp_flatt(speedup.value, p=level)):
        return Absent("undefined", slower)
    found = transform(speedup, partial(karp_flatt, p=level), unit=FRACTION, name="karp_flatt", how="(1/S - 1/p) / (1 - 1/p)")
    return _at_most_all(found)


KARP_FLATT = measure(
    name="karp_flatt",
    title="Karp-Flatt serial fraction",
    unit=FRACTION,
    kind="level",
    better="lower",
    formula="e(p) = (1/S - 1/p) / (1 - 1/p)",
    compute=_karp_flatt,
    question="What serial fraction does each worker count show by itself?",
    caveat="Flat over p: serial work; rising with p: communication and imbalance. For a base of one worker only.",
    rank=1308,
)


def _predicted_speedup(measured: RecordData) -> Value:
    fitted = model(measured)
    if isinstance(fitted, Absent):
        return _predicted_by_law(measured, fitted)
    if (refused := of_miss(measured)) is not None:
        return refused
    p, launches = fitted.next, fitted.fitted.blocks
    interval = predict(fitted.fitted, p, measured.confidence, launches=launches, others=fitted.others, what=Curve.speedup)
    worst = predict(fitted.all_exposed, p, measured.confidence, launches=launches, what=Curve.speedup).value
    bound = f" ({given(worst, 3)} if nothing were hidden there)" if fitted.hides else ""
    return of_model(measured, fitted, interval, unit=RATIO, name="predicted_speedup", how=f"T1 / T({p}){bound} of", at=float(p))


def _predicted_by_law(measured: RecordData, why: Absent) -> Value:
    if measured.experiment.base_level != 1:
        return Absent("not_applicable", "a prediction needs a base of one worker")
    data = throughputs(measured)
    if isinstance(data, Absent):
        return data
    if len(data.levels) < POINTS:
        return Absent("refused", f"{len(data.levels)} worker counts, fewer than {POINTS}, and {why.detail}")
    law = chosen(measured, data)
    if isinstance(law, Refused):
        return refusal(law)
    p = NEXT * data.levels[-1]
    if isinstance(prediction := by_law(law.chosen, data, p), Refused):
        return refusal(prediction)
    curve = relative_curve(law.chosen, [p], 1.0)[0]
    how = f"X({p:g}) / X(1) of a law fitted without knowing the links ({why.detail})"
    ends = (curve.value, curve.low, curve.high)
    return estimate(measured, law.chosen, data, ends, metric="predicted_speedup", unit=RATIO, how=how)


PREDICTED_SPEEDUP = measure(
    name="predicted_speedup",
    title="Predicted speedup at twice the workers",
    unit=RATIO,
    kind="ratio",
    better="higher",
    formula="T1 / T(p) at p = 2 max(p), by the model of communication, else by a law",
    compute=_for_all(_predicted_speedup),
    question="What speedup would twice the largest measured worker count give?",
    caveat="Flagged below four worker counts, and refused where the model misses the held-out largest count by more than 20 %.",
    rank=1309,
)
METRICS = (
    SPEEDUP,
    EFFICIENCY,
    SPEEDUP_WALL,
    SERIAL_FRACTION,
    AMDAHL_CEILING,
    USL_CONTENTION,
    USL_COHERENCY,
    USL_PEAK,
    SCALED_SPEEDUP,
    HELD_OUT_ERROR,
    KARP_FLATT,
    PREDICTED_SPEEDUP,
)
