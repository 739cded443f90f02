"""Is the time that more workers do not shorten serial work, communication or waiting for the slowest worker?

Amdahl's fit calls all of it serial, and the Karp-Flatt series separates them only if communication grows with the workers: a ring's latency
does, its bandwidth term hardly does. With alpha, beta and bytes of the same record, the step at the largest worker count is divided into
T1/p, serial work, communication, waiting, and an unexplained rest (`stats.models.communication_wall`). Cannot tell: the nature of the serial work;
a model that misses the largest count by much explains nothing, and the finding says so.
"""

from __future__ import annotations

import math
from typing import Final

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.estimates.format import count, percent, reading, show
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.communication.communication_model import Wall, model
from fireassay.metrics.metric import ALL, Results
from fireassay.stats.models.communication_wall import Division, Limit, divide, trend
from fireassay.stats.models.scaling_predictions import FARTHEST, WORST_MISS
from fireassay.units import SECONDS
from fireassay.verdict.audits.bottlenecks.bottleneck_processors import examine as sharing
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.types import Finding

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
REMEDIES: Final[dict[Limit, str]] = {
    "nothing": "nothing to do",
    "serial": "find what every worker does in full in each step: loading, logging, evaluation, an undivided part of the model",
    "communication": "send fewer bytes or fewer messages (precision, larger buckets, gradient accumulation), or overlap more of it with computation",
    "slowest": "find which worker it is, and whether it is always the same; balance its work or its processors",
    "serial and communication": "both must fall: the audit's evidence says how much each takes",
    "unexplained": "sweep the links on the same workers (measure.communication = true), and examine the phases of a step",
}


def examine(measured: RecordData, results: Results) -> tuple[Finding, ...]:
    """The limiting part, as a note; a warning if the model misses a measured worker count."""
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
        SHARED if parts.limit == "serial" and any(True for _ in sharing(measured, results)) else REMEDIES[parts.limit],
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
    """Whether latency is less than half of the communication time at the largest worker count."""
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


AUDIT = Audit(
    name="communication_wall",
    title="serial work mistaken for communication",
    question="Is the time that more workers do not shorten serial work, communication or waiting?",
    examine=examine,
    about=("training",),
)
