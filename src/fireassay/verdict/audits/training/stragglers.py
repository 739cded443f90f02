"""Is one rank slower than the others, and in which phase?

Own times without waiting (`frames/training/rank_phases.py`) are compared between ranks within each step. A rank and phase is named if the
interval of its excess lies above 2 ms and 5 % of the step, at a confidence corrected for testing every rank and phase
(`stats/groups/stragglers.py`: in a launch of equal ranks, false positives occur in fewer than 1 in 100). A warning in at least half of a
configuration's launches, else a note. Blind if waiting is unknown or steady steps are too few. Cannot tell: the cause; a slow link or card
that delays all ranks together (`assay comm` measures pairs of ranks).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import Final

import numpy as np

from fireassay.estimates.format import bracketed, count, percent
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.rank_phases import ASKING, BETWEEN, THROUGHOUT, Own, own_times
from fireassay.metrics.metric import Results
from fireassay.metrics.training.ranks import UNSEEN
from fireassay.stats.groups.stragglers import Excess, Search
from fireassay.stats.intervals.intervals import Interval, mean_t
from fireassay.units import SECONDS
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.affected import in_launches, most
from fireassay.verdict.evidence.possible_gain import gain_words
from fireassay.verdict.types import Finding

WHERE: Final = {
    "data": "waiting for its batches",
    "forward": "in its forward pass",
    "backward": "computing its gradients",
    "optimizer": "in its optimizer",
    ASKING: "in the calls that start communication",
    BETWEEN: "between the phases of its steps",
    THROUGHOUT: "overall, without one phase standing out,",
}
REMEDY: Final = {
    "data": "check what that rank loads from: its loader's processes, its storage, its share of larger samples",
    "forward": "check that rank's processor or device (clock, temperature, neighbours) and at the size of its batches",
    "backward": "check that rank's processor or device (clock, temperature, neighbours) and at the size of its batches",
    "optimizer": "check what only that rank does there: a larger parameter shard, a check, a throttled device",
    ASKING: "check that rank's comm hook, its host's processors, and what else holds its interpreter lock",
    THROUGHOUT: "check that rank's share of processors (quota, pinning, other programs), its clock and temperature, its host",
    BETWEEN: "check what only that rank does besides training: logging, saving, scoring, progress bars",
}
TAKEN_OFF: Final = {
    "thread": "its waiting for the others is subtracted",
    "ddp_logging": "exposed communication by DDP's own logging is subtracted",
    "kineto": "exposed communication by the profiler is subtracted",
    "durations": "waiting by the durations of the collectives is subtracted",
    "none": "waiting is unknown, so backward passes are not compared",
}


@dataclass(frozen=True, kw_only=True)
class Searched:
    """A launch and its excesses."""

    own: Own
    search: Search


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """One finding per configuration, rank and phase, the largest excess first."""
    launches = [launch for launch in _searched(measured) if not launch.search.insufficient]
    return tuple(
        finding
        for name in measured.configurations
        for finding in _findings(name, [launch for launch in launches if launch.own.configuration == name])
    )


def _searched(measured: RecordData) -> list[Searched]:
    return [Searched(own=times, search=times.searched()) for times in own_times(measured)]


def _findings(name: str, launches: list[Searched]) -> Iterator[Finding]:
    hits: dict[tuple[int, str], list[tuple[Searched, Excess]]] = {}
    for launch in launches:
        for excess in launch.search.found:
            hits.setdefault((launch.own.ranks[excess.rank], excess.phase), []).append((launch, excess))
    for (rank, phase), members in sorted(hits.items(), key=lambda item: -_middle(item[1])):
        yield _finding(name, rank, phase, members, len(launches))


def _middle(members: list[tuple[Searched, Excess]]) -> float:
    return median(excess.seconds.value for _, excess in members)


def _finding(name: str, rank: int, phase: str, members: list[tuple[Searched, Excess]], launches: int) -> Finding:
    excess, step = _interval(members), median(float(np.median(launch.own.step_s)) for launch, _ in members)
    which = f"{len(members)} of {count(launches, 'launches')}, {in_launches(launch.own.launch for launch, _ in members)}"
    longer, spread = bracketed(excess.value, excess.low, excess.high, SECONDS)
    evidence = (
        f"rank {rank} takes {longer} {spread} longer per step {WHERE[phase]} than the other ranks, "
        f"{percent(excess.value / step)} of the step; {gain_words(_shares(excess, step))}; "
        f"{TAKEN_OFF[members[0][0].own.method]} ({which})"
    )
    return Finding("straggler", "warning" if most(len(members), launches) else "note", name, evidence, REMEDY[phase])


def _shares(excess: Interval, step: float) -> tuple[float, float, float]:
    value, low, high = (min(max(bound / step, 0.0), 1.0) for bound in (excess.value, excess.low, excess.high))
    return value, low, high


def slow_ranks(measured: RecordData, configuration: str) -> tuple[int, ...]:
    """Ranks named in at least half of a configuration's launches, ascending."""
    launches = [launch for launch in _searched(measured) if not launch.search.insufficient and launch.own.configuration == configuration]
    named = [rank for launch in launches for rank in {launch.own.ranks[excess.rank] for excess in launch.search.found}]
    return tuple(sorted(rank for rank in set(named) if most(named.count(rank), len(launches))))


def _interval(members: list[tuple[Searched, Excess]]) -> Interval:
    """Across launches if there are several, else within the single launch."""
    values = [excess.seconds.value for _, excess in members]
    return mean_t(values, 0.95) if len(values) > 1 else members[0][1].seconds


def blind(measured: RecordData, _: Results) -> str | None:
    """Blind without a launch of several ranks, known waiting and enough steps."""
    if all(entry.workers == 1 for entry in measured.varied):
        return "every configuration has one worker"
    searched = _searched(measured)
    if not searched:
        return "no timed launch of several workers has steady steps recorded on every rank"
    sufficient = [entry for entry in searched if not entry.search.insufficient]
    if not sufficient:
        return searched[0].search.insufficient
    return UNSEEN if all(entry.own.method == "none" for entry in sufficient) else None


AUDIT = Audit(
    name="stragglers",
    title="a slow rank",
    question="Is one rank slower than the others, and in which phase?",
    examine=examine,
    about=("training",),
    blind=blind,
)
