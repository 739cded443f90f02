"""Are there enough launches, and were they chosen and counted fairly?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import polars as pl

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import count, percent, reading
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import EVERYTHING, Results
from fireassay.metrics.results import deciding_metrics
from fireassay.spec.plan import plan
from fireassay.stats.groups.launch_groups import SURE, Groups, groups, unseen_share
from fireassay.units import FRACTION
from fireassay.verdict.audits.audit import Audits
from fireassay.verdict.evidence.affected import in_launches
from fireassay.verdict.phrases import more_launches
from fireassay.verdict.types import Finding

AUDITS = Audits(about=EVERYTHING)


# ---- launches ----

LAUNCHES_ENOUGH = 5


@AUDITS.add("launches", "Are there enough launches, and is each accounted for?", title="insufficient evidence")
def examine_launches(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """Findings on too few, failed and skipped launches.

    An interval between launches needs at least 5 per configuration. It assumes that launches scatter around one value; with fewer it is
    provisional: of two modes, or in a heavy tail, three miss too much (benchmarks/results/launch_groups.md). Fewer than 3 carry no verdict
    (docs/methodology.md, "The unit of analysis is the launch"). Failed planned launches are named: summarising only successes would be
    cherry-picking (`cherry_picked` finds missing ones). Claims: launches and an interval must be published; a spread is no interval, and
    trials are no launches.
    """
    return (*_few(measured), *_failed(measured))


def _few(measured: RecordData) -> Iterator[Finding]:
    if measured.experiment.profile is not None and measured.experiment.profile.only:
        return  # no timed launches planned: `assay profile`
    if measured.experiment.launches.quick:
        return  # one launch was asked for, and the screen says what it is worth
    if measured.kind.unit != "launch":
        return
    for name in measured.configurations:
        done = measured.timed.filter(pl.col("configuration") == name).height
        if done < LAUNCHES_ENOUGH:
            evidence = f"{count(done, 'successful launches')}; a reliable interval needs {LAUNCHES_ENOUGH}"
            if done > 1:
                evidence += f": this one is provisional, as {done} can miss a mode of up to {percent(unseen_share(done))} of all launches"
            yield Finding("few_launches", "warning", name, evidence, more_launches(measured, LAUNCHES_ENOUGH))


def _failed(measured: RecordData) -> Iterator[Finding]:
    launches = measured.table("launches")
    bad = launches.filter(pl.col("status").is_in(["failed", "timeout", "skipped"])).sort("launch")
    for name in bad["configuration"].unique(maintain_order=True).to_list():
        rows = bad.filter(pl.col("configuration") == name)
        evidence = f"{count(rows.height, 'launches')} did not succeed; the first (launch {rows['launch'][0]}): {rows['reason'][0]}"
        remedy = "read the launch's log in the record; failed launches are kept and their cost counts, but they are in no timing"
        yield Finding("failed_launches", "warning", name, evidence, remedy)


# ---- launch groups ----

Found = tuple[str, Estimate, Groups]
LAUNCH_GROUPS_RARE: Final = 0.1  # a mode with this share of launches appears among ADVISED launches with 95 % probability
ADVISED: Final = 29  # ceil(ln 0.05 / ln(1 - RARE))


@AUDITS.add("launch_groups", "Do the launches of a configuration form one group?", title="launches in two groups")
def examine_launch_groups(measured: RecordData, results: Results) -> tuple[Finding, ...]:
    """One warning per configuration, for its clearest split.

    Examines each launch's times and rates that decide comparisons (`fireassay.stats.groups.launch_groups`): with two groups, or one
    outlier, the interval surrounds a value that no launch had. No launch is dropped (docs/decisions, 0012): the finding names the launches,
    and the interval is marked in every output. Level: p < 0.01 divided by the number of metrics examined. Cannot tell: the cause, or a mode
    that none of these launches met.
    """
    return tuple(
        _launch_groups_finding(measured, configuration, min(splits, key=lambda split: split[2].p))
        for configuration in measured.configurations
        if (splits := list(_split(measured, results, configuration)))
    )


def _split(measured: RecordData, results: Results, configuration: str) -> Iterator[Found]:
    names = deciding_metrics(measured.kind)
    for name in names:
        value = results.get(name, {}).get(configuration)
        if isinstance(value, Estimate):
            smallest = measured.experiment.comparison.smallest_effect
            seen = groups(value.launch_values, smallest_effect=smallest)
            if seen is not None and seen.p < SURE / len(names):
                yield name, value, seen


def _launch_groups_finding(measured: RecordData, configuration: str, split: Found) -> Finding:
    name, value, seen = split
    k, rows = len(value.launch_values), measured.timed.filter(pl.col("configuration") == configuration).sort("block")
    numbers = rows["launch"].to_list() if rows.height == k else None
    if (far := seen.outlying) is not None:
        which = f"launch {numbers[far]}" if numbers else "one launch"
        others = seen.low if far in seen.upper else seen.high
        evidence = (
            f"{name} of {which} is {reading(value.launch_values[far], value.unit)}, far from the {reading(others, value.unit)} of "
            f"the other {k - 1}; the interval holds only if such launches are as common as one in {k}"
        )
        return Finding("outlying_launch", "warning", configuration, evidence, f"check that launch's telemetry and log; {_more(k)}")
    parts = " and ".join(
        f"{len(part)} near {reading(middle, value.unit)}{_numbered(part, numbers)}"
        for part, middle in ((seen.lower, seen.low), (seen.upper, seen.high))
    )
    evidence = f"{name} of {count(k, 'launches')} falls into two groups, {parts}: the interval describes a value between them"
    remedy = f"find what differs between the two groups (placement, clocks, neighbours, cache) and fix it; {_more(k)}"
    return Finding("launches_in_two_groups", "warning", configuration, evidence, remedy)


def _numbered(part: tuple[int, ...], numbers: list[int] | None) -> str:
    return f" ({in_launches(numbers[index] for index in part)})" if numbers else ""


def _more(k: int) -> str:
    return (
        f"or measure more launches: {k} can miss a mode of up to {percent(unseen_share(k))} of all launches, "
        f"{ADVISED} one of {percent(LAUNCH_GROUPS_RARE)}"
    )


# ---- looks ----

WHY_NOT = {
    "at_most": ("launches.at_most was reached", "raise launches.at_most, or accept a wider launches.precision"),
    "budget": ("limits.experiment_timeout_s elapsed", "raise limits.experiment_timeout_s, or accept a wider launches.precision"),
    "failed": ("the launches failed", "fix what the failed launches report"),
}


@AUDITS.add("looks", "Were launches added until the intervals were narrow?", title="optional stopping")
def examine_looks(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """The effect of interim analyses on the confidence level; a warning if intervals are wider than requested.

    With `launches.precision` the number of launches depends on their results. Stopping at an interim analysis once the interval is narrow
    makes plain 95 % intervals cover less than 95 % of the time; intervals are therefore computed at a higher confidence level, and every
    report says so (`fireassay.stats.comparing.multiplicity`). It also reports why launching stopped: intervals wider than requested are no
    failure, but must not pass for narrow.
    """
    if not measured.looks:
        return ()
    ended = str(measured.manifest.get("looks_ended", ""))
    narrow = not measured.experiment.launches.until_decided  # else the status says whether it was enough
    return (_paid(measured), *(_too_wide(measured, ended) if narrow else ()))


def _paid(measured: RecordData) -> Finding:
    requested, reported = measured.experiment.launches.confidence, measured.confidence
    analyses = "1 interim analysis" if len(measured.looks) == 1 else f"{len(measured.looks)} interim analyses"
    evidence = (
        f"launches were added until {_goal(measured)} ({analyses}); every interval is computed at "
        f"{reading(reported, FRACTION)}, so that {reading(requested, FRACTION)} coverage holds across all of them"
    )
    remedy = "nothing: this is the price of interim analyses; a fixed number of launches needs no such allowance"
    return Finding("looks", "note", None, evidence, remedy)


def _goal(measured: RecordData) -> str:
    if measured.experiment.launches.until_decided:
        return "every worker count was decided"
    return "the comparison was decided" if measured.looks[-1].get("ended") else "the intervals were narrow"


def _too_wide(measured: RecordData, ended: str) -> tuple[Finding, ...]:
    if ended not in WHY_NOT or measured.looks[-1].get("ended"):
        return ()
    why, remedy = WHY_NOT[ended]
    evidence = f"{why} before the intervals were as narrow as requested: {measured.looks[-1]['sentence']}"
    return (Finding("precision_not_reached", "warning", None, evidence, remedy),)


# ---- cherry picked ----


@AUDITS.add("cherry_picked", "Was a favourable launch picked?", title="cherry-picked run")
def examine_cherry_picked(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """Planned launches missing from the record; replaced launches.

    A single launch may be any launch, and best-of-N improves with N. A record holds every launch; this looks for planned launches that are
    missing, except those that adaptive launching did not need. A disturbed launch that was repeated stays in the record; if such launches
    are as many as those that count, the selection is reported. Source: MLPerf Training rules (N consecutive runs, failed ones included).
    """
    return (*_cherry_picked_missing(measured), *_replaced(measured))


def _cherry_picked_missing(measured: RecordData) -> list[Finding]:
    if measured.state != "complete" or measured.foreign is not None:
        return []  # `sealed` reports the missing launches; other tools' files follow no plan of ours
    launches = measured.table("launches").filter(pl.col("role") == "timed")
    there = launches.group_by("configuration").agg(pl.col("block").n_unique())
    known = dict(there.iter_rows())
    planned = 0 if is_adaptive(measured) else len({launch.block for launch in plan(measured.experiment) if launch.role == "timed"})
    planned = planned or max(known.values(), default=0)
    short = {name: planned - known.get(name, 0) for name in measured.configurations if known.get(name, 0) < planned}
    return [
        Finding(
            "launches_missing",
            "warning",
            name,
            f"{missing} of {count(planned, 'launches')} of the plan are missing from the record, even as failures",
            "run the whole plan; a summary over some of the launches is a selection",
        )
        for name, missing in short.items()
    ]


def is_adaptive(measured: RecordData) -> bool:
    """True if launches were added until the intervals were narrow: then the plan gives only a maximum."""
    return measured.experiment.launches.adaptive or bool(measured.manifest.get("looks"))


def _replaced(measured: RecordData) -> Iterator[Finding]:
    launches = measured.table("launches").filter(pl.col("role") == "timed")
    for name in measured.configurations:
        rows = launches.filter(pl.col("configuration") == name)
        replaced, used = (rows.filter(pl.col("status") == status).height for status in ("contaminated", "ok"))
        if replaced and replaced >= used:
            evidence = (
                f"{count(replaced, 'launches')} were repeated because they were disturbed, {used} count: "
                "the numbers describe the quiet moments"
            )
            remedy = "dedicate the machine to the experiment, or report the disturbed launches as well: they are in the record"
            yield Finding("mostly_replaced", "warning", name, evidence, remedy)
