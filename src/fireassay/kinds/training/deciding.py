"""How many launches would decide an undecided training, and how long would they take?

Decided is a worker count once the interval of its speedup leaves the highest limit: the base's speed, or the efficiency gate. With k launches
the chance of that is that of a t test of this size (`detectable_effect`): the distance of the log speedup from the limit, and its spread
over rounds, are taken as the record shows them. Cannot tell: how far the true distance is from the one seen. Where it is smaller, fewer decide.
"""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

from fireassay.estimates.format import duration, given
from fireassay.kinds.training.why import base_of
from fireassay.metrics.training.scaling import SPEEDUP
from fireassay.reports import answering
from fireassay.reports.view import Column, View
from fireassay.stats.comparing.comparison import POWER, detectable_effect

USUAL_LAUNCHES: Final = 10
MIN_LAUNCHES: Final = 3
MAX_LAUNCHES: Final = 60  # that are advised to decide; with more noise than that, quieten the machine first
MAX_COUNTED: Final = 10_000


def edges(view: View, column: Column) -> tuple[tuple[float, str], ...]:
    """The speedups that decide, and what they are: the base's, and that of the efficiency gate."""
    gate = view.efficiency_gate
    of_gate = () if gate is None else ((gate * column.workers / base_of(view).workers, f"the gate of {given(100 * gate)} % efficiency"),)
    return ((1.0, ""), *of_gate)


def only_examples(view: View, open_: Sequence[Column]) -> int:
    """The held-out examples that decide, if nothing but quality is open and more launches cannot decide it; else 0."""
    keys = {column.key for column in open_}
    gates = [gate for gate in view.gates if gate.configuration in keys and gate.status == "INCONCLUSIVE"]
    several = all(gate.examples_needed and not gate.launches_needed for gate in gates)
    return max((gate.examples_needed or 0 for gate in gates), default=0) if several else 0


def launches(view: View, open_: Sequence[Column], names: str) -> tuple[int, str]:
    """How many launches decide, and what they do: as many as quality takes, but no more than pay where the machine's noise is the cause.

    `names`: of the undecided counts, in words.
    """
    usual = max(2 * answering.timed(view), USUAL_LAUNCHES)
    keys = {column.key for column in open_}
    quality = max((gate.launches_needed or 0 for gate in view.gates if gate.configuration in keys), default=0)
    noise = max((needed(view, column) for column in open_), default=0)
    if noise > max(MAX_LAUNCHES, quality):
        seen = f"{noise:,}" if noise <= MAX_COUNTED else f"{MAX_COUNTED:,} and more"
        first = f"decide on {names}: quieten the machine first, then fewer decide than the {seen} launches that its noise seen here takes"
        return max(quality, usual), first
    if quality > max(usual, noise):
        return quality, f"decide on {names}: {view.quality_metric} takes {quality:,} launches, or more held-out examples"
    if not noise:
        return usual, f"decide on {names} with more launches"
    made = max(noise, answering.timed(view))
    time = f" (about {duration(made * round_s(view, open_))})"
    return made, f"{made} launches each decide on {names} with {given(100 * POWER)} %, if speed and spread are as here{time}"


def round_s(view: View, open_: Sequence[Column]) -> float:
    """The seconds of one launch of the base and of each of these counts, by the median launches of the record."""
    medians = []
    for column in (base_of(view), *open_):
        ended = [one.wall_s for one in view.launches if (one.configuration, one.role, one.status) == (column.key, "timed", "ok")]
        medians.append(statistics.median(ended) if ended else 0.0)
    return math.fsum(medians)


def needed(view: View, column: Column) -> int:
    """The fewest launches that decide on its speed with the usual power; 0 if that is not what is open, or its spread is unknown."""
    speedup = view.estimate(SPEEDUP.name, column.key)
    gated = any((row.gate, row.configuration, row.status) == ("efficiency", column.key, "INCONCLUSIVE") for row in view.gates)
    limits = [edge for edge, name in edges(view, column) if not name or gated]
    if speedup is None or not any(speedup.low <= limit <= speedup.high for limit in limits):
        return 0
    values = speedup.launch_values
    if len(values) < 2 or min(values) <= 0.0:
        return 0
    confidence = view.measured.experiment.launches.confidence
    return fewest(statistics.stdev(map(math.log, values)), abs(math.log(speedup.value / max(limits))), confidence)


def fewest(spread: float, distance: float, confidence: float) -> int:
    """Launches whose t interval excludes a limit at this distance with the usual power; `MAX_COUNTED` + 1 if so many do not."""
    counts = range(MIN_LAUNCHES, MAX_COUNTED + 1)
    at = bisect_left(counts, True, key=lambda k: detectable_effect(spread / math.sqrt(k), k - 1, confidence) <= distance)
    return counts[at] if at < len(counts) else MAX_COUNTED + 1
