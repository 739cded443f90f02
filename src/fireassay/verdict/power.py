"""What will this experiment be able to show?

Computed before the run from an earlier record of the same workload, or for assumed spreads without one.
Half-width of a mean over k launches: t[k-1] s / sqrt(k), s from the earlier record's launches (of log values; for a speedup, of
log ratios within blocks). Minimum detectable effect against equally many interleaved launches: power 80 %, with the rule and the
conservative degrees of freedom (k - 1) of `assay compare`. Quality: with no changed answer, a margin m needs
ln(1 - confidence)/ln(1 - m) held-out examples; with a share psi of changed answers, (z + z)^2 psi / m^2 (normal approximation, true
difference 0). Length of a launch: variance components of Kalibera & Jones, ISMM 2013, over windows of steps in launches.
Cannot tell: whether the machine will be as quiet as it was then.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import count, given, percent
from fireassay.frames.record_data import RecordData
from fireassay.metrics.calls import TRIAL_TIME
from fireassay.metrics.metric import Results
from fireassay.metrics.results import deciding_metrics
from fireassay.metrics.training.time import STEP_TIME, WALL_TIME
from fireassay.spec.experiment import Experiment
from fireassay.spec.kind import kind_of
from fireassay.spec.plan import Configuration, configurations
from fireassay.spec.sections.serving import Serving
from fireassay.stats.comparing.comparison import detectable_effect
from fireassay.stats.comparing.multiplicity import analysis_confidence, expected_launches
from fireassay.stats.comparing.noninferiority import items_needed, items_needed_without_flips
from fireassay.stats.intervals.intervals import t_quantile
from fireassay.stats.intervals.quantiles import least_two_sided
from fireassay.stats.series.normality import components, optimal_counts
from fireassay.units import NS_PER_S

SUPPOSED_SPREADS = (0.01, 0.02, 0.05)  # of launches, without an earlier record
SUPPOSING = "if launches vary by"
MIN_LAUNCHES = 3
LAUNCHES_SHOWN = (5, 10, 20, 40)  # per configuration, each with the smallest change that it shows
MAX_LAUNCHES = 1000  # that are proposed
WINDOWS = 10  # into which a pilot's steps are divided, per launch
TIMES = (STEP_TIME.name, TRIAL_TIME.name, WALL_TIME.name)


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """One question that the experiment will, or will not, be able to answer."""

    subject: str  # "speedup at workers=2", "quality", "p99 step time"
    sentence: str
    possible: bool = True  # False: the experiment cannot answer it


def foresee(
    experiment: Experiment,
    earlier: RecordData | None = None,
    results: Results | None = None,
    floor: float | None = None,
    detect: float | None = None,
) -> tuple[Expectation, ...]:
    """All expectations before the run.

    Args:
        experiment: the experiment to run.
        earlier: a complete record of the same workload, if any.
        results: metrics of `earlier`.
        floor: the smallest relative difference that this machine resolves between interleaved launches, from its last `assay doctor`.
        detect: a relative change; how many launches show it?
    """
    return tuple(_all(experiment, earlier, results or {}, floor, detect))


def _all(
    experiment: Experiment, earlier: RecordData | None, results: Results, floor: float | None, detect: float | None
) -> Iterator[Expectation]:
    k = experiment.launches.per_configuration
    if k < MIN_LAUNCHES and experiment.launches.precision is None:
        yield Expectation(
            subject="verdict",
            possible=False,
            sentence=f"{count(k, 'launches')} per configuration cannot decide anything: use at least {MIN_LAUNCHES} (default 5)",
        )
    else:
        yield from _performance(experiment, earlier, results, floor)
        yield from _launch_numbers(experiment, earlier, results, floor, detect)
    if experiment.serving is not None:
        yield from _loads(experiment, experiment.serving, earlier)
        return
    yield from _length(earlier)
    yield from _quality(experiment, earlier)
    yield from _tails(experiment, earlier)


# ---- performance -------------------------------------------------------------------------------------------------


def _performance(experiment: Experiment, earlier: RecordData | None, results: Results, floor: float | None) -> Iterator[Expectation]:
    spreads = _spreads(experiment, results) if earlier is not None else {}
    for configuration in configurations(experiment) if earlier is not None else ():
        name, level = configuration.name, configuration.workers
        if name in spreads:
            yield _time(experiment, *spreads[name], floor)
        _, ratios = _values(results, ("speedup",), name)
        if ratios is not None and len(ratios) >= 2 and level != experiment.base_level:
            yield _speedup(experiment, name, _spread(ratios))
    if earlier is None:
        for cv in SUPPOSED_SPREADS:
            yield _time(experiment, f"{SUPPOSING} {percent(cv, 12)}", cv, floor)


def _spreads(experiment: Experiment, results: Results) -> dict[str, tuple[str, float]]:
    """By configuration: the time or rate that decides, and its spread over launches."""
    kind = kind_of(experiment)
    names = deciding_metrics(kind) if kind.sends_requests else TIMES
    found = ((configuration.name, _values(results, names, configuration.name)) for configuration in configurations(experiment))
    return {
        name: (f"{metric.replace('_', ' ')} at {name}", _spread(values)) for name, (metric, values) in found if values and len(values) >= 2
    }


def _time(experiment: Experiment, subject: str, cv: float, floor: float | None) -> Expectation:
    k, confidence = _launches(experiment, cv), _confidence(experiment)
    change = _smallest_change(experiment, cv, k)
    sentence = (
        f"{_precision(experiment, cv)}interval about ±{percent(_half(cv, k, confidence))}; against as many interleaved "
        f"launches, a change of {percent(change, way='up')} is detected in 4 of 5 cases; variation between sessions is extra"
    )
    if not subject.startswith(SUPPOSING):
        sentence += f" (launches vary by {percent(cv)})"
    if floor is not None and floor > change:
        sentence += f"; this machine's noise floor, {percent(floor)}, is larger and sets the limit"
    return Expectation(subject=subject, sentence=sentence)


def _smallest_change(experiment: Experiment, cv: float, k: int, floor: float = 0.0) -> float:
    """Shown with power 80 % between two sides of k interleaved launches each, as a fraction."""
    least = math.log1p(max(experiment.comparison.smallest_effect, floor))
    return math.expm1(detectable_effect(cv * math.sqrt(2.0 / k), k - 1, _confidence(experiment), least=least))


def _launch_numbers(
    experiment: Experiment, earlier: RecordData | None, results: Results, floor: float | None, detect: float | None
) -> Iterator[Expectation]:
    """Which change do 5, 10, 20 and 40 launches show, and how many show `detect`?  At the configuration that varies most."""
    spreads = _spreads(experiment, results).values() if earlier is not None else ()
    cases = [max(spreads, key=lambda spread: spread[1])] if spreads else []
    if earlier is None:
        cases = [(f"if they vary by {percent(cv, 12)}", cv) for cv in SUPPOSED_SPREADS]
    for subject, cv in cases:
        shown = ", ".join(f"{k} show {percent(_smallest_change(experiment, cv, k, floor or 0.0), way='up')}" for k in LAUNCHES_SHOWN)
        words, possible = (
            _needed(experiment, cv, floor or 0.0, detect) if detect is not None else ("--detect 0.02 says how many 2 % needs", True)
        )
        yield Expectation(subject=f"launches, {subject}", sentence=f"{shown}; {words}", possible=possible)


def _needed(experiment: Experiment, cv: float, floor: float, detect: float) -> tuple[str, bool]:
    """The fewest launches per configuration that show this change, or why none do."""
    wanted, least = percent(detect, 12), experiment.comparison.smallest_effect
    if detect <= least:
        return f"{wanted} is not above comparison.smallest_effect = {given(least)}, so no number of launches shows it", False
    if detect <= floor:
        return f"{wanted} is not above this machine's noise floor, {percent(floor)}, so no number of launches shows it", False
    counts = range(MIN_LAUNCHES, MAX_LAUNCHES + 1)
    index = bisect_left(counts, True, key=lambda k: _smallest_change(experiment, cv, k, floor) <= detect)
    if index == len(counts):
        return f"{wanted} needs more than {MAX_LAUNCHES:,}: quiet the machine", False
    return f"{wanted} needs {counts[index]} (--launches {counts[index]})", True


def _speedup(experiment: Experiment, name: str, cv: float) -> Expectation:
    k, confidence = _launches(experiment, cv), _confidence(experiment)
    sentence = f"interval about ±{percent(_half(cv, k, confidence))} of its value, from {count(k, 'rounds')}"
    return Expectation(subject=f"speedup at {name}", sentence=f"{_precision(experiment, cv)}{sentence}")


def _precision(experiment: Experiment, cv: float) -> str:
    """Expected outcome of adaptive launches."""
    launches = experiment.launches
    if launches.precision is None:
        return ""
    needed = expected_launches(cv, launches.precision, launches.confidence)
    wanted = f"±{percent(launches.precision)}"
    if needed > experiment.blocks:
        return f"{wanted} would take about {count(needed, 'launches')}, more than launches.at_most = {launches.at_most}: "
    return f"{wanted} is reached after about {count(needed, 'launches')}: "


def _launches(experiment: Experiment, cv: float) -> int:
    """Expected launches per configuration."""
    launches = experiment.launches
    if launches.precision is None:
        return launches.per_configuration
    return max(MIN_LAUNCHES, min(experiment.blocks, expected_launches(cv, launches.precision, launches.confidence)))


def _confidence(experiment: Experiment) -> float:
    confidence = experiment.launches.confidence
    return confidence if experiment.launches.precision is None else analysis_confidence(confidence)


def _half(cv: float, k: int, confidence: float) -> float:
    """Relative half-width, on the upper side, of a t interval on logarithms."""
    return math.expm1(t_quantile((1.0 + confidence) / 2.0, k - 1) * cv / math.sqrt(k))


def _values(results: Results, names: tuple[str, ...], configuration: str) -> tuple[str, tuple[float, ...] | None]:
    for name in names:
        value = results.get(name, {}).get(configuration)
        if isinstance(value, Estimate) and value.launch_values and min(value.launch_values) > 0.0:
            return name, value.launch_values
    return "", None


def _spread(values: tuple[float, ...]) -> float:
    """Standard deviation of the logarithms."""
    return float(np.std(np.log(np.asarray(values, dtype=np.float64)), ddof=1))


# ---- more launches, or longer ones? --------------------------------------------------------------------------------


def _length(earlier: RecordData | None) -> Iterator[Expectation]:
    """Optimal launch length (Kalibera & Jones, ISMM 2013, as corrected in libkalibera), with the base's launches as pilot."""
    pilot = None if earlier is None else _windows(earlier)
    if earlier is None or pilot is None:
        return
    steps, seconds = pilot.shape[2], float(pilot.sum(axis=(1, 2)).mean())
    variances = components(np.log(pilot.mean(axis=2)))
    # cost of one more launch apart from its steps
    apart = max(_wall_seconds(earlier) - seconds, seconds / pilot.shape[1])
    (best,) = optimal_counts(variances, (seconds / pilot.shape[1], apart))
    inside = min(1.0, variances.within[0] / WINDOWS / variances.within[1]) if variances.within[1] > 0.0 else 1.0
    sentence = f"{percent(inside)} of the variance between launches comes from the steps within them"
    if best is None:
        sentence += "; launches add no detectable variation of their own, so longer launches help as much as more launches"
    else:
        sentence += f"; time is spent best with about {best * steps:,} steady steps per launch (it had {WINDOWS * steps:,}); beyond that, add launches"
    yield Expectation(subject=f"launch length at {earlier.base}", sentence=sentence)


def _windows(earlier: RecordData) -> NDArray[np.float64] | None:
    """Seconds of the base's steady steps as [launch, window, step]; None where there are too few to split."""
    steps = earlier.steady_steps.filter(pl.col("configuration") == earlier.base).sort("launch", "step")
    series = [part["step_s"].to_numpy() for part in steps.partition_by("launch", maintain_order=True)]
    shortest = min((len(values) for values in series), default=0) // WINDOWS
    if len(series) < MIN_LAUNCHES or shortest < 1 or any(values.min() <= 0.0 for values in series):
        return None
    return np.stack([values[: WINDOWS * shortest].reshape(WINDOWS, shortest) for values in series])


def _wall_seconds(earlier: RecordData) -> float:
    """Mean wall time of the base's launches."""
    launches = earlier.timed.filter(pl.col("configuration") == earlier.base)
    return float(((launches["end_ns"] - launches["begin_ns"]) / NS_PER_S).mean())  # type: ignore[arg-type]


# ---- quality and tails ---------------------------------------------------------------------------------------------


def _quality(experiment: Experiment, earlier: RecordData | None) -> Iterator[Expectation]:
    quality, confidence = (experiment.quality, _confidence(experiment))  # the test uses the confidence of all intervals
    if quality is None:
        yield Expectation(subject="quality", possible=False, sentence="not checked, as no metric of it is named")
        return
    if quality.margin >= 1.0:
        return
    least = items_needed_without_flips(quality.margin, confidence)
    items, units, flip_rate = _examples(earlier) if earlier is not None else (None, None, None)
    sentence = f"a margin of {given(quality.margin)} needs {least:,} held-out examples even if no answer changes"
    if quality.cluster or (units is not None and units != items):
        sentence += ", or as many clusters where examples are not independent"
    needed = least
    if flip_rate:
        needed = max(least, items_needed(min(1.0, flip_rate), quality.margin, confidence))
        sentence += f"; {percent(flip_rate)} of the answers changed between the base's launches (seeds differ): about {needed:,} in all"
    if items is not None:
        sentence += f"; the earlier record scored {items:,}{f' in {units:,} independent units' if units != items else ''}"
    yield Expectation(subject="quality", sentence=sentence, possible=units is None or units >= least)


def _examples(earlier: RecordData) -> tuple[int | None, int | None, float | None]:
    """Distinct examples, independent units (clusters, and examples outside of any), and flip rate between the base's launches."""
    scores = earlier.scores.join(earlier.timed.select("launch", "configuration"), on="launch")
    if scores.height == 0:
        return None, None, None
    items = int(scores["example"].n_unique())
    units = scores.select(pl.coalesce(pl.col("cluster") + " (cluster)", "example")).to_series().n_unique()
    base = scores.filter(pl.col("configuration") == earlier.base)
    wide = base.pivot(on="launch", index="example", values="score").drop("example").to_numpy()
    if wide.shape[1] < 2:
        return items, units, None
    changed = [np.mean(wide[:, column] != wide[:, column + 1]) for column in range(wide.shape[1] - 1)]
    return items, units, float(np.mean(changed))


def _tails(experiment: Experiment, earlier: RecordData | None) -> Iterator[Expectation]:
    needed = least_two_sided(0.99, _confidence(experiment))
    if earlier is None or earlier.steady_steps.height == 0:
        return
    per_launch: Mapping[str, float] = dict(
        earlier.steady_steps.group_by("configuration", "launch").len().group_by("configuration").agg(pl.col("len").median()).iter_rows()
    )
    steps = min(per_launch.values()) * experiment.launches.per_configuration
    yield Expectation(
        subject="p99 step time",
        possible=steps >= needed,
        sentence=f"about {steps:,.0f} steady steps per configuration; a p99 needs at least {needed:,} independent ones",
    )


# ---- loads -----------------------------------------------------------------------------------------------------------


def _loads(experiment: Experiment, serving: Serving, earlier: RecordData | None) -> Iterator[Expectation]:
    """Expected requests for tails and objectives, and whether quality can be shown."""
    needed = least_two_sided(0.99, _confidence(experiment))
    for configuration in configurations(experiment):
        requests = _requests(serving, configuration, earlier)
        if requests is None:
            continue
        whole = requests * experiment.launches.per_configuration
        yield Expectation(
            subject=f"p99 at {configuration.name}",
            possible=whole >= needed,
            sentence=f"about {whole:,.0f} requests; a p99 needs at least {needed:,} independent ones",
        )
        yield from _attainment(experiment, serving, configuration, whole)
    if experiment.quality is not None:
        yield from _quality(experiment, earlier)
    else:
        yield Expectation(subject="quality", sentence="[quality] is not set, so whether the answers are right is not measured")


def _attainment(experiment: Experiment, serving: Serving, configuration: Configuration, requests: float) -> Iterator[Expectation]:
    """With no miss, n requests bound attainment below by ((1 - confidence)/2)^(1/n)."""
    share = serving.objectives.attainment
    if not serving.objectives.any or share >= 1.0:
        return
    least = least_two_sided(share, _confidence(experiment))
    yield Expectation(
        subject=f"objectives at {configuration.name}",
        possible=requests >= least,
        sentence=f"an attainment of {percent(share, 4)} needs at least {least:,} requests even if none misses; about {requests:,.0f} will be due",
    )


def _requests(serving: Serving, configuration: Configuration, earlier: RecordData | None) -> float | None:
    """Requests in one launch's measured window: rate x time, else as in the earlier record; None: unknown."""
    arrivals = serving.arrivals
    known: float | None = None
    if configuration.load is not None and arrivals.process in ("constant", "poisson", "gamma", "server"):
        known = configuration.load * arrivals.duration_s
    elif earlier is not None:
        counted = (
            earlier.table("requests")
            .filter(pl.col("phase") == "main")
            .join(earlier.timed.filter(pl.col("configuration") == configuration.name), on="launch", how="semi")
        )
        launches = counted["launch"].n_unique()
        known = counted.height / launches if launches else None
    return known if known is None or arrivals.requests is None else min(known, arrivals.requests)
