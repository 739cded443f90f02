"""How long, how many samples, how many dollars and joules does the training take to reach its target?

A launch's value is that of its first evaluation that meets the target (`frames.training.time_to_quality`); a launch without one is
censored at its own end: it counts as "more than that". The value over launches is Kaplan and Meier's median, with the interval of ranks
(`stats.intervals.censored_median`); `quality_reached` is the share of launches that reach it. Time runs from the first step; evaluations count.

Two worker counts are compared round by round, since a round shares its seed: the ratio of times is one of samples (statistical
efficiency) times one of samples per second (hardware), in every round. If all launches reach the target: Student's t on the logs.
Else the median of the rounds' ratios, of which those with a censored launch are known on one side only, or not at all.
The target is the same for every worker count, so this is a speedup also where the batch grows with the workers.

The mean is given up to a horizon, the largest time until which a launch of every configuration with censored ones ran; without any, over all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import polars as pl

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import count, reading
from fireassay.estimates.over_launches import average, exact, no_launch, transform
from fireassay.frames.costs import NO_PRICES, no_energy
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.evaluated_scores import names
from fireassay.frames.training.time_to_quality import launches_to_quality
from fireassay.frames.training.work import UNCOUNTED
from fireassay.metrics.metric import Dimension, Metric, Results, each
from fireassay.stats.intervals.censored_median import CensoredMedian, censored_median, median_of_bounded
from fireassay.stats.intervals.intervals import log_t
from fireassay.stats.intervals.means import clopper_pearson
from fireassay.stats.intervals.restricted_mean import restricted_mean
from fireassay.units import COUNT, FRACTION, JOULES, RATIO, SECONDS, USD

measure = partial(
    Metric, dimension="performance", kind="cost", about=("training",), requested=lambda measured: measured.experiment.target is not None
)
MAX_NAMES: Final = 8  # of other scores, in a message
NO_TARGET: Final = Absent("not_applicable", "the experiment names no target; add --target accuracy=0.75, or [target] goal")


def never_evaluated(measured: RecordData) -> Absent | None:
    """Why no launch has a score of the target's name; None if any has."""
    target = measured.experiment.target
    if target is None:
        return NO_TARGET
    name = target.parsed.name
    reported = names(measured)
    if name in reported:
        return None
    logged = measured.table("events").filter(pl.col("kind") == "score_name")["detail"].str.json_path_match("$.name").drop_nulls().to_list()
    others = [*reported, *(measured.table("examples")["metric"].unique().to_list()), *(other for other in logged if other != name)]
    known = sorted(dict.fromkeys(others))[:MAX_NAMES]
    why = (
        f"; this line was not read, as its number may be another, of training data or of a batch: {unread!r}"
        if (unread := unread_line(measured)) is not None
        else f"; found: {', '.join(known)}"
        if known
        else ""
    )
    return Absent(
        "not_measured",
        f"no evaluation named {name!r} was reported or printed{why}; call p.evaluate(step, score, name={name!r}) at each one",
    )


def unread_line(measured: RecordData) -> str | None:
    """A printed line with the target's name whose number was not read (see `instruments/found_scores.py`); None without any."""
    noted = measured.table("events").filter(pl.col("kind") == "score_unclear")
    lines = noted["detail"].str.json_path_match("$.line").drop_nulls()
    return None if lines.is_empty() else str(lines[0])


def of_configuration(measured: RecordData, configuration: str) -> pl.DataFrame:
    """The rows of `launches_to_quality` of one configuration, by round."""
    return launches_to_quality(measured).filter(pl.col("configuration") == configuration).sort("block", "launch")


def _median(measured: RecordData, configuration: str, *, column: str, unit: str, name: str, missing: str, flag: str = "reached") -> Value:
    if (absent := never_evaluated(measured)) is not None:
        return absent
    rows = of_configuration(measured, configuration)
    if rows.height == 0:
        return no_launch(configuration)
    if rows[column].null_count():
        return _lacking(measured, column, missing)
    times, reached = rows[column].to_list(), rows[flag].to_list()
    if any(time <= 0.0 for time in times):
        early = sum(time <= 0.0 for time in times)
        return Absent("undefined", f"{count(early, 'launches')} met the target before the first step; choose a target that takes training")
    median = censored_median(times, reached, measured.confidence)
    return _estimate(measured, median, times, reached, unit, name)


def beyond(measured: RecordData, configuration: str, limit_s: float) -> bool:
    """True if the median time to the target lies beyond a limit, though too few launches reach the target to name it."""
    rows = of_configuration(measured, configuration)
    if rows.height == 0 or never_evaluated(measured) is not None or min(rows["time_s"]) <= 0.0:
        return False
    return censored_median(rows["time_s"].to_list(), rows["reached"].to_list(), measured.confidence).low > limit_s


def _lacking(measured: RecordData, column: str, missing: str) -> Absent:
    if column == "usd":
        return NO_PRICES
    return no_energy(measured) if column == "joules" else Absent("not_measured", missing)


def _estimate(
    measured: RecordData, median: CensoredMedian, values: Sequence[float], reached: Sequence[bool], unit: str, name: str
) -> Value:
    hits, launches = sum(reached), len(values)
    censored = f"{launches - hits} censored at the end" if hits < launches else "none censored"
    if median.value is None:
        more = f"; more than {reading(median.low, unit, way='down')}" if median.low > 0.0 else ""
        return Absent("insufficient", f"median not reached: {hits} of {count(launches, 'launches')} reached {_goal(measured)}{more}")
    how = "interval of ranks, no distribution assumed" if median.ranks else "Student t on logs, too few launches for ranks"
    return Estimate(
        value=median.value,
        low=median.low,
        high=median.high,
        unit=unit,
        confidence=measured.confidence,
        n_launches=launches,
        n_trials=launches,
        method=f"Kaplan-Meier median of {count(launches, 'launches')}, {censored}; {how}",
        signature=f"{name}|target:{_goal(measured)}|agg:km-median|ci:{'beta-product' if median.ranks else 't-log'}|reached:{hits}"
        f"|k:{launches}|conf:{measured.confidence:g}|v:1",
        launch_values=tuple(values) if hits == launches else (),
    )


def _goal(measured: RecordData) -> str:
    assert measured.experiment.target is not None
    return str(measured.experiment.target.parsed)


MEDIANS: Final[
    tuple[tuple[tuple[str, str, str, str, str, Dimension], str, str, str], ...]
] = (  # (name, title, unit, column, flag, dimension), formula, question, caveat
    (
        ("time_to_quality", "Time to the target", SECONDS, "time_s", "reached", "performance"),
        "median over launches of the time from the first step to the first evaluation that meets the target",
        "How long does the training take to reach the target?",
        "As fine as evaluations are frequent; start-up is not in it (time_to_quality_wall), and the next evaluation may miss the target again.",
    ),
    (
        ("time_to_quality_held", "Time to the target, held", SECONDS, "held_s", "held", "performance"),
        "the same to the first evaluation whose next one meets the target too",
        "How long until the target is met and met again?",
        "A launch that stops at its first success never shows a second, and is censored.",
    ),
    (
        ("time_to_quality_wall", "Time to the target with start-up", SECONDS, "wall_s", "reached", "performance"),
        "median over launches of the time from the launch's begin to the first evaluation that meets the target",
        "How long does a user wait for the target, start-up included?",
        "Start-up depends on the launcher and on caches.",
    ),
    (
        ("samples_to_quality", "Samples to the target", COUNT, "samples", "reached", "performance"),
        "median over launches of the items of all ranks before the first evaluation that meets the target",
        "How many samples does the training need to reach the target?",
        "Items of steps that were repeated after a restart count once; says nothing about time.",
    ),
    (
        ("cost_to_quality", "Cost to the target", USD, "usd", "reached", "cost"),
        "median over launches of workers x price x time from the launch's begin to the target",
        "What does a run cost until it reaches the target?",
        "Later work of the same run is not in it, nor the launches that never reach the target: they are censored.",
    ),
    (
        ("energy_to_quality", "Energy to the target", JOULES, "joules", "reached", "cost"),
        "median over launches of the energy counters at the first evaluation that meets the target",
        "How many joules does a run use until it reaches the target?",
        "Between two readings in proportion to time; counters measure whole devices.",
    ),
)
MISSING: Final = {
    "time_s": "",
    "held_s": "",
    "wall_s": "the clocks of the hosts cannot be compared with that of the launch's begin",
    "samples": UNCOUNTED,
    "usd": "",
    "joules": "",
}
TIME_TO_QUALITY, HELD, WALL, SAMPLES, COST, ENERGY = (
    measure(
        name=name,
        title=title,
        unit=unit,
        better="lower",
        dimension=dimension,
        formula=formula,
        compute=each(partial(_median, column=column, unit=unit, name=name, missing=MISSING[column], flag=flag)),
        primary=name == "time_to_quality",
        question=question,
        caveat=caveat,
        rank=rank - (600 if dimension == "cost" else 0),
    )
    for rank, ((name, title, unit, column, flag, dimension), formula, question, caveat) in enumerate(MEDIANS, 1240)
)


def horizon_s(measured: RecordData) -> float | None:
    """The time up to which means over launches are known in every configuration; None: no launch is censored."""
    rows = launches_to_quality(measured)
    largest = rows.group_by("configuration").agg(pl.col("time_s").max(), pl.col("reached").all()).filter(~pl.col("reached"))["time_s"]
    return None if largest.is_empty() else float(largest.min())  # type: ignore[arg-type]


def _mean(measured: RecordData, configuration: str) -> Value:
    median = _median(measured, configuration, column="time_s", unit=SECONDS, name="mean_time_to_quality", missing="")
    if isinstance(median, Absent) and median.reason != "insufficient":
        return median
    rows, horizon = of_configuration(measured, configuration), horizon_s(measured)
    times, reached = rows["time_s"].to_list(), rows["reached"].to_list()
    name = f"mean_time_to_quality|target:{_goal(measured)}"
    if horizon is None:
        mean = average(times, measured.confidence, unit=SECONDS, aggregate="time to the target", name=name, n_trials=len(times))
        return replace(mean, low=max(0.0, mean.low))
    hits = sum(hit and time <= horizon for time, hit in zip(times, reached, strict=True))
    return Estimate.of(
        restricted_mean(times, reached, horizon, measured.confidence),
        unit=SECONDS,
        confidence=measured.confidence,
        n_launches=len(times),
        n_trials=len(times),
        method=f"area under Kaplan and Meier's curve up to {reading(horizon, SECONDS)}, by which {hits} of {count(len(times), 'launches')} "
        "reached it; Gaffke's bounds",
        signature=f"{name}|horizon:{horizon:.6g}|ci:gaffke|reached:{hits}|k:{len(times)}|conf:{measured.confidence:g}|v:1",
    )


MEAN = measure(
    name="mean_time_to_quality",
    title="Mean time to the target",
    unit=SECONDS,
    better="lower",
    formula="mean over launches of min(time to the target, horizon), the area under Kaplan and Meier's curve",
    compute=each(_mean),
    question="How long does a training take on average, if one that never reaches the target is stopped at the horizon?",
    caveat="The horizon is the record's own, the same for all its configurations: another record's mean has another one.",
    rank=1251,
)


def _share(measured: RecordData, configuration: str) -> Value:
    if (absent := never_evaluated(measured)) is not None:
        return absent
    rows = of_configuration(measured, configuration)
    if rows.height == 0:
        return no_launch(configuration)
    hits = int(rows["reached"].sum())
    return Estimate.of(
        clopper_pearson(hits, rows.height, measured.confidence),
        unit=FRACTION,
        confidence=measured.confidence,
        n_launches=rows.height,
        n_trials=rows.height,
        method=f"{hits} of {count(rows.height, 'launches')}; Clopper and Pearson's exact interval",
        signature=f"quality_reached|target:{_goal(measured)}|ci:clopper-pearson|k:{rows.height}|conf:{measured.confidence:g}|v:1",
    )


REACHED = measure(
    name="quality_reached",
    title="Launches that reach the target",
    unit=FRACTION,
    better="higher",
    formula="launches with an evaluation that meets the target / launches that ended",
    compute=each(_share),
    question="How often does the training reach the target before it ends?",
    caveat="Crashed launches and those ended after a number of steps count as not reached.",
    rank=1246,
)


def rounds(measured: RecordData, configuration: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The rounds that hold a launch of the base and one of the configuration, as their rows."""
    base, own = ({row["block"]: row for row in of_configuration(measured, name).to_dicts()} for name in (measured.base, configuration))
    return [(base[block], own[block]) for block in sorted(base.keys() & own.keys())]


def _ratio(measured: RecordData, configuration: str, *, column: str, name: str, inverse: bool) -> Value:
    """base / own of a column, or own / base if `inverse`."""
    pairs = _pairs(measured, configuration, name, column)
    if isinstance(pairs, Absent | Estimate):
        return pairs
    sign = -1.0 if inverse else 1.0
    logs = [sign * math.log(base[column] / own[column]) for base, own in pairs]
    if all(base["reached"] and own["reached"] for base, own in pairs):
        return _of_rounds(measured, [math.exp(log) for log in logs], name)
    bounds = [_bounds(log, *((base, own) if not inverse else (own, base))) for log, (base, own) in zip(logs, pairs, strict=True)]
    median = median_of_bounded([low for low, _ in bounds], [high for _, high in bounds], measured.confidence)
    unknown = sum(not (base["reached"] and own["reached"]) for base, own in pairs)
    middle, how = median.value, "median ratio"
    if middle is None:  # the censored rounds may lie on either side of it
        middle, how = _of_medians(pairs, column, measured.confidence, sign), "ratio of the Kaplan-Meier medians"
    if middle is None or not median.low <= middle <= median.high:
        most = f"; at most {reading(median.high, RATIO, way='up')}" if math.isfinite(median.high) else ""
        return Absent(
            "insufficient", f"in {unknown} of {count(len(pairs), 'rounds')} a launch did not reach {_goal(measured)}: no median ratio{most}"
        )
    return Estimate(
        value=middle,
        low=median.low,
        high=median.high,
        unit=RATIO,
        confidence=measured.confidence,
        n_launches=len(pairs),
        n_trials=len(pairs),
        method=f"{how} of {count(len(pairs), 'rounds')}, {unknown} of them with a censored launch, known on one side at most; "
        "interval of ranks",
        signature=f"{name}|target:{_goal(measured)}|base:{measured.base}|paired:block|ci:ranks-bounded|k:{len(pairs)}"
        f"|conf:{measured.confidence:g}|v:1",
    )


def _of_medians(pairs: Sequence[tuple[dict[str, Any], dict[str, Any]]], column: str, confidence: float, sign: float) -> float | None:
    """The ratio of both sides' medians; None if either is not reached."""
    sides = [
        censored_median([row[column] for row in side], [row["reached"] for row in side], confidence) for side in zip(*pairs, strict=True)
    ]
    base, own = (side.value for side in sides)
    return None if base is None or own is None else float((base / own) ** sign)


def _bounds(log: float, above: Mapping[str, Any], below: Mapping[str, Any]) -> tuple[float, float]:
    """Between which logarithms the ratio above / below lies, where either may be larger than observed."""
    return (log if below["reached"] else -math.inf), (log if above["reached"] else math.inf)


def _pairs(
    measured: RecordData, configuration: str, name: str, column: str
) -> list[tuple[dict[str, Any], dict[str, Any]]] | Absent | Estimate:
    if (absent := never_evaluated(measured)) is not None:
        return absent
    if configuration == measured.base:
        launches = of_configuration(measured, configuration).height
        return exact(1.0, unit=RATIO, name=name, n_launches=launches, n_trials=launches, how="the base against itself")
    pairs = rounds(measured, configuration)
    if not pairs:
        return Absent("insufficient", f"no round holds launches of both {measured.base} and {configuration}")
    values = [row[part] for pair in pairs for row in pair for part in {column, "time_s"}]
    if any(value is None for value in values):
        return Absent("not_measured", MISSING[column])
    if min(values) <= 0.0:
        return Absent("undefined", "a launch met the target before the first step; choose a target that takes training")
    return pairs


def _of_rounds(measured: RecordData, ratios: Sequence[float], name: str) -> Estimate:
    return Estimate.of(
        log_t(ratios, measured.confidence),
        unit=RATIO,
        confidence=measured.confidence,
        n_launches=len(ratios),
        n_trials=len(ratios),
        method=f"Student t on the log of the ratios of {count(len(ratios), 'rounds')}, paired by round",
        signature=f"{name}|target:{_goal(measured)}|base:{measured.base}|ci:t-log-paired|k:{len(ratios)}|conf:{measured.confidence:g}|v:1",
        launch_values=tuple(ratios),
    )


def _rate(measured: RecordData, configuration: str) -> Value:
    """Samples per second until the target, or until the end: never censored."""
    pairs = _pairs(measured, configuration, "rate_ratio_to_quality", "samples")
    if isinstance(pairs, Absent | Estimate):
        return pairs
    ratios = [own["samples"] / own["time_s"] / (base["samples"] / base["time_s"]) for base, own in pairs]
    return _of_rounds(measured, ratios, "rate_ratio_to_quality")


def _efficiency(measured: RecordData, results: Results) -> Mapping[str, Value]:
    levels = zip(measured.configurations, measured.levels, strict=True)
    return {name: _per_worker(measured, results["speedup_to_quality"][name], level) for name, level in levels}


def _per_worker(measured: RecordData, speedup: Value, level: int) -> Value:
    if isinstance(speedup, Absent):
        return speedup
    base = measured.experiment.base_level
    how = f"speedup_to_quality x {base} / {level}"
    return transform(speedup, lambda ratio: ratio * base / level, unit=FRACTION, name="efficiency_to_quality", how=how)


SPEEDUP_TO_QUALITY = measure(
    name="speedup_to_quality",
    title="Speedup to the target",
    unit=RATIO,
    better="higher",
    formula="time_to_quality of the base / that of p workers, round by round",
    compute=each(partial(_ratio, column="time_s", name="speedup_to_quality", inverse=False)),
    question="How many times as soon is the target reached with more workers?",
    caveat="A different learning rate or batch changes it as much as the machine does: samples_ratio_to_quality separates the two.",
    rank=1247,
)
EFFICIENCY_TO_QUALITY = measure(
    name="efficiency_to_quality",
    title="Efficiency to the target",
    unit=FRACTION,
    better="higher",
    formula="speedup_to_quality x base workers / p",
    compute=_efficiency,
    question="What share of the added workers shortens the way to the target?",
    caveat="Of a fixed target, so of strong scaling, even where the batch grows with the workers.",
    rank=1248,
)
SAMPLES_RATIO = measure(
    name="samples_ratio_to_quality",
    title="Samples to the target against the base",
    unit=RATIO,
    better="lower",
    formula="samples_to_quality of p workers / that of the base, round by round",
    compute=each(partial(_ratio, column="samples", name="samples_ratio_to_quality", inverse=True)),
    question="How many times as many samples does the target take with more workers?",
    caveat="Statistical efficiency: larger batches need more samples. Its inverse times rate_ratio_to_quality is speedup_to_quality.",
    rank=1249,
)
RATE_RATIO = measure(
    name="rate_ratio_to_quality",
    title="Samples per second against the base",
    unit=RATIO,
    better="higher",
    formula="(samples / time until the target or the end) of p workers / that of the base, round by round",
    compute=each(_rate),
    question="How many times as fast do more workers get through the samples, evaluations included?",
    caveat="Hardware efficiency on the way to the target; it says nothing about how many samples are needed.",
    rank=1250,
)
METRICS = (
    *(TIME_TO_QUALITY, HELD, WALL, SAMPLES, COST, ENERGY, MEAN, REACHED),
    *(SPEEDUP_TO_QUALITY, EFFICIENCY_TO_QUALITY, SAMPLES_RATIO, RATE_RATIO),
)
