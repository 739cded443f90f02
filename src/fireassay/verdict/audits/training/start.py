"""Does every launch start afresh?"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import polars as pl

from fireassay.estimates.format import count
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.audit import TRAINING, Audits
from fireassay.verdict.types import Finding, Severity

AUDITS = Audits(about=TRAINING)


# ---- contaminated start ----

START_NEARLY: Final = 0.05  # of the most steps
START_NAMED: Final = 3  # files
START_HASHES: Final = ("parameter_hash", "parameter_shard_hash")


@dataclass(frozen=True, kw_only=True)
class StartLaunch:
    """How one launch began."""

    number: int
    configuration: str
    block: int
    seed: int
    counts: bool  # whether its numbers count
    start: str  # the lowest rank's hash before the first step; "" if none was taken
    starts: frozenset[str]  # all ranks' hashes before the first step
    later: Mapping[str, int]  # hash after a step -> steps
    steps: int
    ended: bool  # whether a rank reported its end
    loaded: tuple[str, ...]  # files loaded before the first step
    saved: frozenset[str]


@AUDITS.add("contaminated_start", "Did each launch begin afresh, or where another one had ended?", title="launches that share a snapshot")
def examine_start(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """At most one finding per configuration, the most certain; one more for seeds with differing starts between configurations.

    A script that resumes from any snapshot it finds trains less in every launch after the first. Three signs, the most certain first:

    * the first parameters equal those of an earlier launch after some step (hashed after 0, 1, 2, 4, 8, ... steps and at the end);
    * the first parameters differ between launches that should begin alike: launches of one configuration if its seed has no effect, or of one
      seed if two configurations begin alike in other blocks;
    * step counts differ between launches of a configuration. A difference below `NEARLY` is a warning: early stopping, time limits and
      token-count batches cause it too.

    The loaded file is named if recorded (`checkpoint_load` events with `files`). A load alone is no finding: every launch may load
    pretrained weights and cached data. Cannot tell: a snapshot that predates the first launch and is never rewritten; optimizer states or
    data positions carried over without the parameters.
    """
    launches = _start_launches(measured)
    fresh = measured.experiment.workload.fresh_folder
    findings: list[Finding] = []
    for name in measured.configurations:
        group = [launch for launch in launches if launch.counts and launch.configuration == name]
        result = _resumed(group, launches) or _starts(group) or _start_counts(group)
        if result is not None:
            rule, severity, evidence = result
            findings.append(_start_finding(rule, severity, name, evidence, fresh=fresh))
    if not any(finding.rule != "step_counts_differ" for finding in findings):
        findings += [_start_finding("starts_differ", "invalid", None, evidence, fresh=fresh) for evidence in _apart(measured, launches)]
    return tuple(findings)


StartResult = tuple[str, Severity, str]  # rule, severity, evidence


def _start_finding(rule: str, severity: Severity, name: str | None, evidence: str, *, fresh: bool) -> Finding:
    advice = "keep each launch's output separate: put {launch} into its path, in workload.arguments or workload.environment"
    remedy = (
        f"{advice}"
        if fresh
        else f"give every launch a fresh copy of the working folder (workload.fresh_folder = true, --fresh-folder), or {advice}"
    )
    return Finding(rule, severity, name, evidence, remedy)


def _resumed(group: Sequence[StartLaunch], every: Sequence[StartLaunch]) -> StartResult | None:
    """Launches that begin with an earlier launch's later parameters."""
    pairs = [(launch, *seen) for launch in group if (seen := _start_source(launch, every)) is not None]
    if not pairs:
        return None
    launch, source, steps = pairs[0]
    fewer = f"; it made {count(launch.steps, 'steps')}, where launch {source.number} made {source.steps}"
    evidence = (
        f"launch {launch.number} began with the parameters that launch {source.number} had after {count(steps, 'steps')}"
        f"{_of_files('it', launch, source)}{fewer if launch.steps != source.steps else ''} "
        f"({len(pairs)} of {count(len(group), 'launches')} began where another one had been)"
    )
    return "resumed_from_another_launch", "invalid", evidence


def _start_source(launch: StartLaunch, every: Sequence[StartLaunch]) -> tuple[StartLaunch, int] | None:
    """The last earlier launch that reached these first parameters, and after how many steps."""
    source = None
    for other in every:
        if other.number >= launch.number:
            break
        shared = [other.later[text] for text in launch.starts if text in other.later]
        source = (other, max(shared)) if shared else source
    return source


def _starts(members: Sequence[StartLaunch]) -> StartResult | None:
    """Launches that begin differently from the first of those expected to begin alike."""
    hashed = [launch for launch in members if launch.start]
    for group in _alike(hashed):
        deviating = [launch for launch in group if launch.start != group[0].start]
        if deviating:
            return (
                "starts_differ",
                "invalid",
                (
                    f"{len(deviating)} of {count(len(group), 'launches')} began with other parameters than launch {group[0].number}, "
                    f"the first of them launch {deviating[0].number}, while others began alike{_first_files(group)}"
                ),
            )
    return None


def _alike(launches: Sequence[StartLaunch]) -> list[list[StartLaunch]]:
    """Groups expected to begin alike: all launches if two seeds share a start, else those of a seed if any repeat."""
    seeds_of: dict[str, set[int]] = defaultdict(set)
    of_seed: dict[int, list[StartLaunch]] = defaultdict(list)
    for launch in launches:
        seeds_of[launch.start].add(launch.seed)
        of_seed[launch.seed].append(launch)
    if any(len(seeds) > 1 for seeds in seeds_of.values()):
        return [list(launches)]
    repeats = any(len({member.start for member in group}) < len(group) for group in of_seed.values())
    return list(of_seed.values()) if repeats else []


def _apart(measured: RecordData, every: Sequence[StartLaunch]) -> Iterator[str]:
    """Two configurations that begin alike in some blocks but not in others; the first such pair."""
    of_block: dict[str, dict[tuple[int, int], StartLaunch]] = defaultdict(dict)
    for launch in every:
        if launch.counts and launch.start:
            of_block[launch.configuration].setdefault((launch.block, launch.seed), launch)
    for base, other in combinations(measured.configurations, 2):
        pairs = [(first, of_block[other][key]) for key, first in of_block[base].items() if key in of_block[other]]
        apart = [pair for pair in pairs if pair[0].start != pair[1].start]
        if apart and len(apart) < len(pairs):
            first, second = sorted(apart[0], key=lambda launch: launch.number)
            yield (
                f"launches {first.number} and {second.number} have one seed and began with different parameters, while {base} and {other} begin alike "
                f"in {len(pairs) - len(apart)} of {count(len(pairs), 'rounds')}{_first_files((first, second))}"
            )
            return


def _start_counts(group: Sequence[StartLaunch]) -> StartResult | None:
    """Launches with different step counts, among those that reported their end if any did."""
    ended = [launch for launch in group if launch.ended] or group
    stepped = [launch for launch in ended if launch.steps]
    if len({launch.steps for launch in stepped}) < 2:
        return None
    fewest = min(stepped, key=lambda launch: launch.steps)
    most = max(stepped, key=lambda launch: launch.steps)
    severity: Severity = "warning" if most.steps - fewest.steps <= START_NEARLY * most.steps else "invalid"
    return (
        "step_counts_differ",
        severity,
        (
            f"{count(fewest.steps, 'steps')} in launch {fewest.number} and {most.steps} in launch {most.number}: they did not do the same work"
            f"{_first_files(stepped)}"
        ),
    )


def _of_files(who: str, launch: StartLaunch, source: StartLaunch | None = None) -> str:
    files = [file for file in launch.loaded if source is not None and file in source.saved] or launch.loaded
    if not files:
        return ""
    more = f" and {len(files) - START_NAMED} more" if len(files) > START_NAMED else ""
    of = f", which launch {source.number} had saved" if source is not None and set(files) <= source.saved else ""
    return f"; {who} loaded {', '.join(files[:START_NAMED])}{more}{of}"


def _first_files(launches: Sequence[StartLaunch]) -> str:
    """The first launch with loaded files, unless all loaded the same."""
    if len({launch.loaded for launch in launches}) < 2:
        return ""
    first = next(launch for launch in launches if launch.loaded)
    return _of_files(f"launch {first.number}", first)


def _start_launches(measured: RecordData) -> list[StartLaunch]:
    """Every training launch in order of its begin; first incarnations only, except for later hashes and saved files."""
    counted = set(measured.timed["launch"].to_list())
    steps = _steps(measured)
    hashed = _hashes(measured)
    events = _events(measured)
    launches = []
    for row in measured.table("launches").sort("begin_ns", "launch").iter_rows(named=True):
        number = int(row["launch"])
        start, starts, later = hashed.get(number, ("", frozenset(), {}))
        ended, loaded, saved = events.get(number, (False, (), frozenset()))
        launches.append(
            StartLaunch(
                number=number,
                configuration=row["configuration"],
                block=row["block"],
                seed=row["seed"],
                counts=number in counted,
                start=start,
                starts=starts,
                later=later,
                steps=steps.get(number, 0),
                ended=ended,
                loaded=loaded,
                saved=saved,
            )
        )
    return launches


def _steps(measured: RecordData) -> dict[int, int]:
    """launch -> most steps of a rank before any restart."""
    first = measured.stepped.filter(pl.col("incarnation") == 0)
    return dict(first.group_by("launch").agg(pl.col("steps").max()).iter_rows())


def _first_steps(measured: RecordData) -> dict[int, int]:
    """launch -> number of its first step; a script that marks its own steps may start from the one it resumes at."""
    first = measured.stepped.filter(pl.col("incarnation") == 0)
    return dict(first.group_by("launch").agg(pl.col("first").min()).iter_rows())


def _hashes(measured: RecordData) -> dict[int, tuple[str, frozenset[str], dict[str, int]]]:
    """launch -> (first rank's hash before the first step, all ranks' hashes then, later hash that differs from them -> steps)."""
    rows = measured.table("fingerprints").filter(pl.col("what").is_in(START_HASHES) & pl.col("text").is_not_null())
    wanted = rows.select("launch", "incarnation", "rank", "step", "text").sort("launch", "incarnation", "rank", "step")
    begin = _first_steps(measured)
    firsts: dict[int, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    later: dict[int, dict[str, int]] = defaultdict(dict)
    for launch, incarnation, rank, step, text in wanted.iter_rows():
        if incarnation == 0 and step <= begin.get(launch, 0):
            firsts[launch][rank].append(text)
        else:
            later[launch][text] = max(step, later[launch].get(text, 0))
    hashes = {}
    for launch in firsts.keys() | later.keys():
        starts = frozenset(text for texts in firsts[launch].values() for text in texts)
        lowest = min(firsts[launch], default=None)
        start = "" if lowest is None else " ".join(sorted(set(firsts[launch][lowest])))
        changed = {text: step for text, step in later[launch].items() if text not in starts}
        hashes[launch] = (start, starts, changed)
    return hashes


def _events(measured: RecordData) -> dict[int, tuple[bool, tuple[str, ...], frozenset[str]]]:
    """launch -> (whether a rank reported its end, files loaded before the first step, files saved)."""
    kinds = ("worker_end", "first_step", "checkpoint_load", "checkpoint_save")
    rows = measured.table("events").filter(pl.col("kind").is_in(kinds)).sort("launch", "ns")
    ended: dict[int, bool] = defaultdict(bool)
    begun: dict[int, int] = {}
    loaded: dict[int, dict[str, None]] = defaultdict(dict)
    saved: dict[int, set[str]] = defaultdict(set)
    for launch, ns, incarnation, kind, detail in rows.select("launch", "ns", "incarnation", "kind", "detail").iter_rows():
        if kind == "worker_end":
            ended[launch] = True
        elif kind == "first_step":
            begun.setdefault(launch, ns)
        elif kind == "checkpoint_save":
            saved[launch].update(_files(detail))
        elif not incarnation and ns <= begun.get(launch, ns):
            loaded[launch].update(dict.fromkeys(_files(detail)))
    launches = ended.keys() | loaded.keys() | saved.keys()
    return {launch: (ended[launch], tuple(loaded[launch]), frozenset(saved[launch])) for launch in launches}


def _files(detail: str | None) -> list[str]:
    """Files named in an event's detail."""
    try:
        files = json.loads(detail or "{}").get("files")
    except (ValueError, AttributeError):
        return []
    return [file for file in files if isinstance(file, str)] if isinstance(files, list) else []


# ---- forked start ----


@AUDITS.add("forked_start", "Were the workers forks of a process that had imported torch?", title="forked start")
def examine_forked(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """One note for the record.

    Then (`launcher.start = "fork"`) no launch paid for the imports.  Steps, losses and gradients are what they are otherwise; wall time of
    a run, its cost and energy, start-up and recovery are less than a user pays.  A note, so that nobody quotes them as that.
    """
    if measured.experiment.launcher.start != "fork":
        return ()
    evidence = "workers were forks of a process that had imported torch: wall time, cost and recovery of a run exclude the imports"
    return (Finding("forked_start", "note", None, evidence, 'set launcher.start = "exec" where they matter; steps are the same'),)
