"""Is a speedup what it seems, and what limits it?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Final

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.estimates.format import count, percent, reading, show
from fireassay.frames.record_data import TOLERANCE, RecordData, items_per_step
from fireassay.frames.training.communication.communication_model import Wall, model
from fireassay.frames.training.parallelism import parallelism, why_not
from fireassay.metrics.metric import ALL, Results
from fireassay.spec.plan import configuration_name
from fireassay.stats.models.communication_wall import Division, Limit, divide, trend
from fireassay.stats.models.scaling_predictions import FARTHEST, WORST_MISS
from fireassay.units import SECONDS
from fireassay.verdict.audits.audit import TRAINING, Audits
from fireassay.verdict.audits.bottlenecks import examine_processors as sharing
from fireassay.verdict.types import Finding

AUDITS = Audits()


# ---- scaling mode ----


@AUDITS.add("scaling_mode", "Does the work match strong or weak scaling?", title="strong and weak scaling confused")
def examine_mode(measured: RecordData, results: Results) -> tuple[Finding, ...]:
    """One finding if the recorded work contradicts the declared mode.

    Strong: items of all ranks per step are equal at every worker count. Weak: they grow in proportion to the workers. Fewer or more items
    per step from lost or repeated samples are that fault (see `samples`), not another mode. Claims: the mode must be stated, and must fit
    the global batches of both sides.
    """
    items = items_per_step(measured.steady_steps, measured.timed)
    base = items.get(measured.experiment.base_level)
    if base is None or measured.manifest.get("simulated") is not None:  # a simulated serial share does not grow with the workers
        return ()
    findings = []
    for level, per_step in items.items():
        if why_not(measured, configuration_name(level), "speedup"):  # not comparable as scaling
            continue
        expected = base if measured.mode == "strong" else base * level / measured.experiment.base_level
        if abs(per_step - expected) > TOLERANCE * expected and not _ledger_explains(results, level, per_step < expected):
            findings.append(_mode_finding(measured, level, per_step, expected, base))
    return (*_taken(measured, items), *findings)


def _taken(measured: RecordData, items: Mapping[int, float]) -> list[Finding]:
    """A note if growth of the batch was not declared: all ranks may be reading the same samples."""
    if measured.mode != "weak" or measured.experiment.scaling.mode != "auto":
        return []
    if any(parallelism(measured, name).alone for name in measured.configurations):  # items are no evidence if workers train alone
        return []
    levels = ", ".join(f"{per_step:g} at {level}" for level, per_step in items.items())
    evidence = f"items per step grow with the workers ({levels}), so this is read as weak scaling"
    remedy = "declare it (--scaling weak), or keep the global batch fixed: ranks that all read the same samples look the same"
    return [Finding("scaling_mode_taken", "note", None, evidence, remedy)]


def _ledger_explains(results: Results, level: int, fewer: bool) -> bool:
    wrong = results["samples_lost" if fewer else "samples_duplicated"][configuration_name(level)]
    return isinstance(wrong, Estimate) and wrong.value > 0.0


def _mode_finding(measured: RecordData, level: int, per_step: float, expected: float, base: float) -> Finding:
    workers = count(level, "workers")
    evidence = f"{measured.mode} scaling needs {expected:g} items per step at {workers}; recorded: {per_step:g}"
    if measured.experiment.scaling.mode == "auto":
        evidence = f"neither strong nor weak scaling: {base:g} items per step at the base, {per_step:g} at {workers}"
    remedy = "keep the global batch fixed for strong scaling, the batch per worker for weak scaling, or declare the other mode"
    return Finding("scaling_mode_mismatch", "invalid", configuration_name(level), evidence, remedy)


# ---- weak baseline ----

BASELINE_BASE = "base_kind"  # condition of the experiment; best_serial: the base is the best program for one worker


@AUDITS.add("weak_baseline", "Is the baseline slower than it could be?", title="weak baseline")
def examine_baseline(measured: RecordData, results: Results) -> Iterator[Finding]:
    """A warning per configuration with superlinear speedup; one if the base had other threads.

    A speedup measures the baseline's slack if the baseline has fewer threads, another precision, a smaller batch or no compilation. A speedup
    at or above the number of workers is a red flag: communication should cost something. Records: an efficiency with its whole interval above
    1. Cannot tell: whether a serial program would be faster still; none was timed. Sources: Hoefler & Belli, SC'15, rule 1; Bailey, "Twelve
    ways to fool the masses", 1991, nos. 2 and 6.
    """
    for name in measured.configurations:
        value = results["efficiency"][name]
        if (
            name != measured.base
            and isinstance(value, Estimate)
            and value.n_launches > 1
            and value.low > 1.0
            and not _other_work(measured, results, name)
        ):
            evidence = f"the efficiency {show(value, beside=(1.0,)).full} is above 1: {measured.base} is slower than one worker's share of the work"
            remedy = "find what the base lacks: memory that fits in the caches only when divided, threads, batch; then time a stronger base"
            yield Finding("speedup_above_workers", "warning", name, evidence, remedy, needs=("strong_base",))


def _other_work(measured: RecordData, results: Results, name: str) -> bool:
    """True if lost or repeated samples, or other batches, explain the speed: `samples` and `scaling_mode` report them."""
    wrong = (results[metric][name] for metric in ("samples_lost", "samples_duplicated"))
    if any(isinstance(value, Estimate) and value.value > 0.0 for value in wrong):
        return True
    return any(finding.configuration == name for finding in examine_mode(measured, results))


@AUDITS.blind("weak_baseline")
def blind_baseline(measured: RecordData, _: Results) -> str | None:
    """Blind: a record times the same script on fewer workers, not another program; a single configuration has no baseline."""
    if len(measured.levels) == 1 or str(measured.experiment.conditions.get(BASELINE_BASE, "")) == "best_serial":
        return None
    return (
        f"the base is this script on {count(measured.experiment.base_level, 'workers')}; whether another program is faster on one worker "
        f'was not measured (if it is the best one known, declare it: conditions.{BASELINE_BASE} = "best_serial")'
    )


# ---- communication wall ----

SAYS: Final[dict[Limit, str]] = {
    "nothing": "hardly anything is lost",
    "serial": "serial work limits, not communication",
    "communication": "communication limits, not serial work",
    "slowest": "waiting for the slowest worker limits",
    "serial and communication": "serial work and communication limit equally",
    "unexplained": "most of it is neither serial work nor communication by the model",
}
# the model knows no processors: what workers lose by sharing them looks like serial work
SHARED: Final = (
    "workers share processors (bottleneck_processors), which the model takes for serial work; measure with a processor for each worker"
)
WALL_REMEDIES: Final[dict[Limit, str]] = {
    "nothing": "nothing to do",
    "serial": "find what every worker does in full in each step: loading, logging, evaluation, an undivided part of the model",
    "communication": "send fewer bytes or fewer messages (precision, larger buckets, gradient accumulation), or overlap more of it with computation",
    "slowest": "find which worker it is, and whether it is always the same; balance its work or its processors",
    "serial and communication": "both must fall: the audit's evidence says how much each takes",
    "unexplained": "sweep the links on the same workers (measure.communication = true), and examine the phases of a step",
}


@AUDITS.add(
    "communication_wall",
    "Is the time that more workers do not shorten serial work, communication or waiting?",
    title="serial work mistaken for communication",
    about=TRAINING,
)
def examine_wall(measured: RecordData, results: Results) -> tuple[Finding, ...]:
    """The limiting part, as a note; a warning if the model misses a measured worker count.

    Amdahl's fit calls all of it serial, and the Karp-Flatt series separates them only if communication grows with the workers: a ring's
    latency does, its bandwidth term hardly does. With alpha, beta and bytes of the same record, the step at the largest worker count is
    divided into T1/p, serial work, communication, waiting, and an unexplained rest (`stats.models.communication_wall`). Cannot tell: the
    nature of the serial work; a model that misses the largest count by much explains nothing, and the finding says so.
    """
    wall = model(measured)
    if isinstance(wall, Absent):
        return ()
    curve, level = wall.fitted.middle, wall.largest
    step = math.exp(sum(math.log(row[-1]) for row in wall.steps) / len(wall.steps))
    parts = divide(curve, level, step)
    rule = f"limited_by_{parts.limit.replace(' ', '_')}" if parts.limit != "unexplained" else "limits_unexplained"
    note = Finding(
        rule,
        "note",
        None,
        f"{_division(parts, step, weak=curve.weak)}: {SAYS[parts.limit]}{_fits(measured, wall, results)}{_reach(wall, results)}",
        SHARED if parts.limit == "serial" and any(True for _ in sharing(measured, results)) else WALL_REMEDIES[parts.limit],
    )
    return (note, *_misses(results))


def _division(parts: Division, step_s: float, *, weak: bool) -> str:
    """The division of a step in one sentence."""
    named = {
        "serial work": parts.serial_s,
        "exposed communication": parts.communication_s,
        "waiting for the slowest": parts.slowest_s,
        "not explained": parts.rest_s,
    }
    terms = [f"{name} {reading(value, SECONDS)}" for name, value in named.items() if abs(value) >= 0.005 * step_s]
    ideal = "T1" if weak else "T1/p"
    # modelled parts; they may differ from the measured "comm_exposed"
    division = f"by the model: {', '.join(terms)}" if terms else "by the model nothing visible"
    return (
        f"a step with {parts.workers:g} workers takes {reading(step_s, SECONDS)}, of which {reading(max(parts.lost_s, 0.0), SECONDS)} beyond "
        f"{ideal} ({division})"
    )


def _fits(measured: RecordData, wall: Wall, results: Results) -> str:
    """How Amdahl's fit and the Karp-Flatt series interpret it."""
    words = []
    serial, amdahl = results["serial_fraction_apart"][ALL], results["serial_fraction"][ALL]
    if isinstance(serial, Estimate) and isinstance(amdahl, Estimate) and 0.0 <= amdahl.value <= 1.0:
        words.append(f"Amdahl's fit calls {show(amdahl).text} of the work serial, the communication model {show(serial).text}")
    series = {
        level: value.value
        for level, name in zip(measured.levels, measured.configurations, strict=True)
        if isinstance(value := results["karp_flatt"][name], Estimate)
    }
    how = trend(list(series), list(series.values()))
    if how == "rising":
        words.append("the Karp-Flatt series rises, as it does with communication or waiting")
    elif how != "unknown":
        bandwidth = "; so it does with a bandwidth-bound ring" if _bandwidth_bound(wall) else ""
        words.append(f"the Karp-Flatt series {'is flat' if how == 'flat' else 'falls'}, as it does with serial work{bandwidth}")
    return "".join(f"; {word}" for word in words)


def _bandwidth_bound(wall: Wall) -> bool:
    """True if latency is less than half of the communication time at the largest worker count."""
    link, p = wall.links.whole, wall.largest
    latency = wall.demand.seconds(type(link)(fixed=link.fixed, per_unit=0.0, spread=link.spread), p)
    return latency < 0.5 * wall.demand.seconds(link, p)


def _reach(wall: Wall, results: Results) -> str:
    """The range of the check, and the worker count beyond which more workers do not help."""
    words = []
    error, best = results["communication_wall_error"][ALL], results["fastest_workers"][ALL]
    if isinstance(error, Estimate):
        words.append(f"predicted without it, the largest worker count is missed by {show(error).full}")
    if isinstance(best, Estimate):
        flags = wall.flags(best.value)
        far = best.value > FARTHEST * wall.largest
        flag = " (far beyond what was measured)" if far else f" ({' and '.join(flags)})" if flags else ""
        words.append(f"by the model a step is shortest with {count(round(best.value), 'workers')}{flag}")
    return "".join(f"; {word}" for word in words)


def _misses(results: Results) -> tuple[Finding, ...]:
    error = results["communication_wall_error"][ALL]
    if not isinstance(error, Estimate) or abs(error.value) <= WORST_MISS:
        return ()
    evidence = (
        f"fitted without the largest worker count, the model of communication misses it by {percent(abs(error.value), beside=(WORST_MISS,))}, "
        f"more than {percent(WORST_MISS, 12)}"
    )
    remedy = "do not rely on its predictions; sweep the links on as many workers (measure.communication = true)"
    return (Finding("communication_model_misses", "warning", None, evidence, remedy),)
