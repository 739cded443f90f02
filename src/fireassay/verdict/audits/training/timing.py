"""Do step times show the work of all ranks, in a steady state?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import Final

import numpy as np
import polars as pl

from fireassay.estimates.format import bracketed, count, percent
from fireassay.frames.clock_offsets import HostClock, clock_offsets, hosts_of
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.rank_phases import ASKING, BETWEEN, THROUGHOUT, Own, own_times
from fireassay.metrics.metric import Results
from fireassay.metrics.training.ranks import UNSEEN
from fireassay.stats.groups.clocks import MIN_PINGS
from fireassay.stats.groups.stragglers import Excess, Search
from fireassay.stats.intervals.intervals import Interval, mean_t
from fireassay.units import SECONDS
from fireassay.verdict.audits.audit import TRAINING, Audits
from fireassay.verdict.evidence.affected import gain_words, in_launches, most
from fireassay.verdict.evidence.after_return import blind_to_calls, unfinished_calls
from fireassay.verdict.types import Finding, Severity

AUDITS = Audits()


# ---- warm up ----

SHARE_WORTH_NAMING = 0.5  # of a configuration's launches


@AUDITS.add("warm_up", "Was warm-up recognised, and was a steady state reached?", title="cold start in the numbers")
def examine_warm_up(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """One finding per configuration and unwanted class; a note on how much warm-up was excluded.

    Each launch's step times are classified as flat, warm-up, slow-down or no steady state (docs/methodology.md, "Steady state"; Barrett et
    al., OOPSLA 2017). Warm-up is excluded from steady-state numbers but stays in the record. For a launch without a steady state, the later
    half of its steps is used: a stopgap that this audit reports. Claims: whether the number includes cold first repetitions.
    """
    kinds: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for launch, configuration in measured.timed.select("launch", "configuration").iter_rows():
        if launch in measured.steady:
            kinds[configuration][measured.steady[launch].kind].append(launch)
    unsteady = []
    for configuration, launches in kinds.items():
        total = sum(len(members) for members in launches.values())
        for kind in ("no steady state", "slow-down"):
            if len(launches[kind]) > SHARE_WORTH_NAMING * total:
                unsteady.append(_unsteady(measured, configuration, kind, launches[kind], total))
    return tuple(unsteady) + _warm(measured)


def _unsteady(measured: RecordData, configuration: str, kind: str, launches: list[int], total: int) -> Finding:
    detail = measured.steady[launches[0]].detail
    evidence = f"{len(launches)} of {count(total, 'launches')} show {kind} in their step times ({detail})"
    remedy = "run more steps per launch, and check the step times over the launch for what changes"
    return Finding(kind.replace(" ", "_").replace("-", "_"), "warning", configuration, evidence, remedy)


def _warm(measured: RecordData) -> tuple[Finding, ...]:
    warm = [measured.steady[launch].warmup for launch in measured.timed["launch"] if launch in measured.steady]
    if not any(warm):
        return ()
    evidence = f"up to {count(max(warm), 'steps')} at the beginning of a launch are warm-up, excluded from steady-state numbers"
    return (Finding("warm_up", "note", None, evidence, "nothing to do; they stay in the record"),)


@AUDITS.blind("warm_up")
def blind_warm_up(measured: RecordData, _: Results) -> str | None:
    """Blind without marked steps; trials declare their own warm-up."""
    return (
        None
        if measured.steady or measured.table("trials").height
        else "the script did not mark its steps, so warm-up cannot be distinguished from work"
    )


# ---- missing synchronisation ----

MIN_STEPS = 8
OVERLAP = 0.05  # of a step; generous, since phases and step share one clock
LAST_TO_MEDIAN, LAST_SHARE, OUTSIDE = 10.0, 0.20, 0.50
LAST_TO_LONGEST = 2.0  # a periodic long step (averaging in local SGD) is no queue
SYNCHRONISATION_REMEDY = "synchronise the device before each reading of the clock, or let the probe time the phases with device events"


@AUDITS.add("missing_synchronisation", "Was the clock read before the device had finished?", title="missing synchronisation")
def examine_synchronisation(measured: RecordData, _: Results) -> Iterator[Finding]:
    """At most one warning per configuration and sign.

    Device work is queued: without synchronisation a step ends once its work is queued, and the next synchronising call pays. Three signs,
    each in most launches of a configuration: steps shorter than their own phases; a last step longer than ten medians, a fifth of all step
    time and twice any other step after the first (the queue drains there); more than half of the time between the first and the last step
    outside steps, evaluations and checkpoints.

    Of a timed function: other threads or child processes use processor time after its return, in most launches (by how it grows with the
    number of calls, so that pools that spin are not meant); a device that came into use after the warm-up, so that trials did not wait.

    Cannot tell: a queue that drains elsewhere, nor steps faster than the device's peak rate allows, which is not known here.
    """
    yield from unfinished_calls(measured)
    signs = _signs(measured)
    for name in measured.configurations:
        rows = signs.filter(pl.col("configuration") == name)
        for rule, words in _WORDS.items():
            affected = int(rows[rule].sum())
            if rows.height and 2 * affected > rows.height:
                yield Finding(rule, "warning", name, f"{words} in {affected} of {count(rows.height, 'launches')}", SYNCHRONISATION_REMEDY)


_WORDS = {
    "steps_shorter_than_phases": "most steps are shorter than their own phases together",
    "last_step_drains_queue": "the last step takes more than 10 times the median, a fifth of all step time and twice any other after the first",
    "time_outside_steps": "more than half of the time from the first to the last step lies in no step, evaluation or checkpoint",
}


def _signs(measured: RecordData) -> pl.DataFrame:
    """(launch, configuration, one column per sign) for timed launches with enough steps."""
    step = pl.col("step_s")
    per_launch = (
        measured.global_steps.join(measured.timed.select("launch", "configuration"), on="launch")
        .sort("launch", "step")
        .group_by("launch", "configuration", maintain_order=True)
        .agg(
            pl.len().alias("steps"),
            step.sum().alias("inside"),
            step.last().alias("last"),
            step.median().alias("median"),
            step.slice(1, pl.len() - 2).max().alias("longest"),
            (pl.col("unknown_s") < -OVERLAP * step).mean().fill_null(0.0).alias("overlap"),
        )
        .filter(pl.col("steps") >= MIN_STEPS)
    )
    spanned = per_launch.join(_spans(measured), on="launch")
    paused = spanned.join(_paused(measured), on="launch", how="left").with_columns(pl.col("paused").fill_null(0.0))
    return paused.select(
        "launch",
        "configuration",
        (pl.col("overlap") > 0.5).alias("steps_shorter_than_phases"),
        (
            (pl.col("last") > LAST_TO_MEDIAN * pl.col("median"))
            & (pl.col("last") > LAST_SHARE * pl.col("inside"))
            & (pl.col("last") > LAST_TO_LONGEST * pl.col("longest"))
        ).alias("last_step_drains_queue"),
        (pl.col("span") - pl.col("inside") - pl.col("paused") > OUTSIDE * pl.col("span")).alias("time_outside_steps"),
    )


def _spans(measured: RecordData) -> pl.DataFrame:
    """(launch, span): seconds from first to last step of the rank that took longest; times of different hosts are never subtracted."""
    span = (pl.col("end_ns").max() - pl.col("begin_ns").min()) / 1e9
    return measured.stepped.group_by("launch", "rank").agg(span).group_by("launch").agg(pl.col("end_ns").max().alias("span"))


def _paused(measured: RecordData) -> pl.DataFrame:
    """(launch, paused): seconds of evaluations, checkpoints and peak measurements on the slowest rank, inside or outside steps."""
    kinds = ("evaluation", "checkpoint_save", "checkpoint_load", "flops")  # flops: peak measurement between two steps
    pauses = measured.table("events").filter(pl.col("kind").is_in(kinds) & pl.col("duration_ns").is_not_null())
    by_rank = pauses.group_by("launch", "rank").agg(pl.col("duration_ns").sum() / 1e9)
    return by_rank.group_by("launch").agg(pl.col("duration_ns").max().alias("paused"))


@AUDITS.blind("missing_synchronisation")
def blind_synchronisation(measured: RecordData, _: Results) -> str | None:
    """Blind with too few marked steps."""
    if measured.kind.times_calls:
        return blind_to_calls(measured)
    if _signs(measured).height:
        return None
    return f"no timed launch marked {count(MIN_STEPS, 'steps')}"


# ---- stragglers ----

STRAGGLERS_WHERE: Final = {
    "data": "waiting for its batches",
    "forward": "in its forward pass",
    "backward": "computing its gradients",
    "optimizer": "in its optimizer",
    ASKING: "in the calls that start communication",
    BETWEEN: "between the phases of its steps",
    THROUGHOUT: "overall, without one phase standing out,",
}
STRAGGLERS_REMEDY: Final = {
    "data": "check what that rank does for a batch: its dataset's own work, its loader's processes, its storage, larger samples",
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


@AUDITS.add("stragglers", "Is one rank slower than the others, and in which phase?", title="a slow rank", about=TRAINING)
def examine_stragglers(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """One finding per configuration, rank and phase, the largest excess first.

    Own times without waiting (`frames/training/rank_phases.py`) are compared between ranks within each step. A rank and phase is named if
    the interval of its excess lies above 2 ms and 5 % of the step, at a confidence corrected for testing every rank and phase
    (`stats/groups/stragglers.py`: in a launch of equal ranks, false positives occur in fewer than 1 in 100). A warning in at least half of
    a configuration's launches, else a note. Blind if waiting is unknown or steady steps are too few. Cannot tell: the cause; a slow link or
    card that delays all ranks together (`assay comm` measures pairs of ranks).
    """
    launches = [launch for launch in _searched(measured) if not launch.search.insufficient]
    return tuple(
        finding
        for name in measured.configurations
        for finding in _stragglers_findings(measured, name, [launch for launch in launches if launch.own.configuration == name])
    )


def _searched(measured: RecordData) -> list[Searched]:
    return [Searched(own=times, search=times.searched()) for times in own_times(measured)]


def _stragglers_findings(measured: RecordData, name: str, launches: list[Searched]) -> Iterator[Finding]:
    hits: dict[tuple[int, str], list[tuple[Searched, Excess]]] = {}
    for launch in launches:
        for excess in launch.search.found:
            hits.setdefault((launch.own.ranks[excess.rank], excess.phase), []).append((launch, excess))
    for (rank, phase), members in sorted(hits.items(), key=lambda item: -_middle(item[1])):
        yield _stragglers_finding(measured, name, rank, phase, members, len(launches))


def _middle(members: list[tuple[Searched, Excess]]) -> float:
    return median(excess.seconds.value for _, excess in members)


def _on_host(measured: RecordData, rank: int) -> str:
    """ " on b", if there are several hosts and the rank was on one of them in all launches."""
    placed = hosts_of(measured)
    hosts = placed.filter(pl.col("rank") == rank)["host"].unique().to_list()
    return f" on {hosts[0]}" if placed["host"].n_unique() > 1 and len(hosts) == 1 else ""


def _stragglers_finding(
    measured: RecordData, name: str, rank: int, phase: str, members: list[tuple[Searched, Excess]], launches: int
) -> Finding:
    excess, step = _interval(members), median(float(np.median(launch.own.step_s)) for launch, _ in members)
    which = f"{len(members)} of {count(launches, 'launches')}, {in_launches(launch.own.launch for launch, _ in members)}"
    longer, spread = bracketed(excess.value, excess.low, excess.high, SECONDS)
    evidence = (
        f"rank {rank}{_on_host(measured, rank)} takes {longer} {spread} longer per step {STRAGGLERS_WHERE[phase]} than the other ranks, "
        f"{percent(excess.value / step)} of the step; {gain_words(_stragglers_shares(excess, step))}; "
        f"{TAKEN_OFF[members[0][0].own.method]} ({which})"
    )
    return Finding("straggler", "warning" if most(len(members), launches) else "note", name, evidence, STRAGGLERS_REMEDY[phase])


def _stragglers_shares(excess: Interval, step: float) -> tuple[float, float, float]:
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


@AUDITS.blind("stragglers")
def blind_stragglers(measured: RecordData, _: Results) -> str | None:
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


# ---- host clocks ----


@AUDITS.add("host_clocks", "Can times of different hosts be compared?", title="clocks of several hosts", about=TRAINING)
def examine_host_clocks(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """One finding per configuration and host: its first launch with an unknown clock.

    Durations are taken on one host and need no other clock. Comparisons between hosts (recovery after a fault, timelines) use a measured
    offset with its bound (`frames/clock_offsets.py`). A warning if two estimates of the offset disagree by more than both bounds, or no
    straight line fits the readings: a clock jumped during the launch (a suspended or migrated machine). A note if no offset was measured.
    Cannot tell: a network asymmetry shared by all readings; the bound covers it.
    """
    names = dict(measured.table("launches").select("launch", "configuration").iter_rows())
    first: dict[tuple[str, str], HostClock] = {}
    for clock in clock_offsets(measured).values():
        if not clock.known and clock.launch in names:
            first.setdefault((names[clock.launch], clock.host), clock)
    return tuple(_host_clocks_finding(name, clock) for (name, _host), clock in first.items())


def _host_clocks_finding(name: str, clock: HostClock) -> Finding:
    measured_enough = clock.looks >= MIN_PINGS
    severity: Severity = "warning" if measured_enough else "note"
    evidence = f"times of {clock.host} cannot be compared with other hosts' in launch {clock.launch}: {clock.trouble}"
    remedy = (
        "check whether a host was suspended, moved or restarted during the launch"
        if measured_enough
        else "make rank 0's port reachable from the other hosts (a helper thread contacts it at MASTER_ADDR), and let runs last a few seconds"
    )
    return Finding("clocks_disagree" if measured_enough else "clocks_unknown", severity, name, evidence, remedy)


@AUDITS.blind("host_clocks")
def blind_host_clocks(measured: RecordData, _: Results) -> str | None:
    """Blind with a single host."""
    hosts = {host for _, host in clock_offsets(measured)}
    return None if len(hosts) > 1 else "all workers ran on one host, which has one clock"
