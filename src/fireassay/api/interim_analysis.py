"""Are the intervals of a running experiment narrow enough, and was a launch disturbed?

The interface between measuring and judging: the runner schedules an interim analysis, metrics and statistics evaluate it.  It opens
the unsealed record, computes the intervals of the primary numbers as the report will, and compares their half-widths with
`launches.precision`.  The primary numbers are `comparison.primary` at every level, and the speedup at every level but the base.
`fireassay.stats.comparing.multiplicity` sets the times and confidence of interim analyses; the first follows
`launches.per_configuration` blocks, but not before the fifth, as fewer barely determine the spread.

What do the finished blocks of a running experiment say so far?

A table after every block, made between two launches from the record itself, with only the metrics of
`reports.metric_tables.RUNNING`.  Measured with 4 launches of the digits: 0.1 s of processor time, and once 1.1 s for the imports.
Three digits, an interval from block 3 on, never a mark or a status: stopping at a pleasant one would be optional stopping.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path, PurePath
from typing import Final

from fireassay import catalog
from fireassay.estimates.estimate import Estimate, Value
from fireassay.estimates.format import Scale, count, reading, scale_for
from fireassay.frames import noise
from fireassay.frames.record_data import RecordData, from_record
from fireassay.frames.training.profile_summary import summary
from fireassay.metrics.metric import Metric
from fireassay.metrics.results import LazyResults, about, deciding_metrics
from fireassay.printable import one_line, printable
from fireassay.record.reader import judged_from, open_record
from fireassay.reports.metric_tables import RUNNING
from fireassay.runners.experiment.context import Advice
from fireassay.runners.experiment.progress import FINAL, Look, RunProgress
from fireassay.spec.experiment import Experiment
from fireassay.spec.plan import configurations
from fireassay.stats.comparing.multiplicity import (
    FIRST_ANALYSIS,
    FIRST_DECISION,
    GROWTH,
    analysis_confidence,
    decision_confidence,
    narrow_enough,
    next_analysis,
)
from fireassay.stats.intervals.intervals import Interval
from fireassay.units import FRACTION
from fireassay.verdict.judge import check, examine
from fireassay.verdict.types import GateResult, Status


def advice(*, stop_early: bool = False) -> Advice:
    """The functions that `fireassay.run`, `run`, `resume` and `run_together` receive."""
    return Advice(looks=looks, analyse=analyse, disturbed=disturbed, profiled=summary, futile=futile if stop_early else None)


KEEP_GOING: Final = "measure on all the same: --keep-going"


def futile(path: Path) -> str:
    """Why no further launch of a training can answer what was asked, with the remedy; "" if one may."""
    return why_futile(from_record(open_record(path)))


def why_futile(measured: RecordData) -> str:
    """The same of a record that was read."""
    experiment = measured.experiment
    if experiment.workload.runner == "program":
        return _never_scored(measured)
    if experiment.workload.runner != "training":
        return ""
    script, quality = printable(PurePath(experiment.workload.script).name), experiment.quality
    scores = measured.table("examples")["metric"].unique().to_list()
    if quality is not None and quality.metric not in scores:
        logged = (
            f"it scores {', '.join(sorted(map(printable, scores)))}"
            if scores
            else "it scores no held-out examples; a printed number is not one"
        )
        name = "" if quality.metric == "accuracy" else f', metric="{printable(quality.metric)}"'
        mark = f"Name one that it scores, or mark them: from fireassay import probe; probe.examples(ids, scores{name})"
        return f"{script} never scored {quality.metric}: {logged}. {mark}; {KEEP_GOING}"
    if alone := next((found for found in examine(measured, "parallelism") if found.rule == "nothing_is_distributed"), None):
        return f"{script}: nothing is distributed: {alone.evidence}. To do: {alone.remedy}; {KEEP_GOING}"
    if len(measured.levels) > 1 and experiment.scaling.time != "wall" and measured.stepped.height == 0:
        remedy = "mark them (for batch in probe.steps(loader)), or compare whole runs: --time wall"
        return (
            f"{script} made no training step that was seen, so a speedup would compare start-ups. If it makes steps, {remedy}; {KEEP_GOING}"
        )
    return ""


def _never_scored(measured: RecordData) -> str:
    """That a program left no score of the name that decides; "" if it did, or none decides."""
    quality = measured.experiment.quality
    if quality is None or measured.scores.height:
        return ""
    program = printable(measured.experiment.name)
    return f"{program} never scored {quality.metric}. Name the file in which it does: --scores FILE or --rankings FILE; {KEEP_GOING}"


def looks(experiment: Experiment) -> Iterator[int]:
    """Endless series of block counts with an interim analysis, each at least 1.5 times the previous one."""
    launches = experiment.launches
    blocks = max(launches.per_configuration, FIRST_DECISION if launches.until_decided else FIRST_ANALYSIS)
    while True:
        yield blocks
        blocks = next_analysis(math.ceil(GROWTH * blocks) - 1)


def analyse(path: Path, blocks: int) -> Look:
    """Compute the primary intervals of a record that is still being written. Raises RecordError: the record cannot be read."""
    measured = from_record(open_record(path))
    if measured.experiment.launches.until_decided:
        return _decision(measured, blocks)
    confidence = analysis_confidence(measured.experiment.launches.confidence)
    # As the report computes them if this interim analysis is the last: the manifest then holds its confidence.
    measured = replace(measured, manifest={**measured.manifest, "looks": [{"confidence": confidence}]})
    precision = measured.experiment.launches.precision
    assert precision is not None  # no interim analysis otherwise
    intervals = primary_intervals(measured)
    widths = {name: half_width(interval) for name, interval in intervals.items()}
    enough = bool(intervals) and all(is_narrow(interval, precision) for interval in intervals.values())
    return Look(
        blocks=blocks,
        confidence=confidence,
        enough=enough,
        widths={name: width for name, width in widths.items() if math.isfinite(width)},
        sentence=_sentence(blocks, confidence, precision, widths, enough=enough),
    )


def _decision(measured: RecordData, blocks: int) -> Look:
    """Is every worker count decided, with intervals that pay for all looks?"""
    confidence = decision_confidence(measured.experiment.launches.confidence, len(measured.looks) + 1)
    measured = replace(measured, manifest={**measured.manifest, "looks": [*measured.looks, {"confidence": confidence}]})
    open_ = undecided(measured)
    widths = {name: half_width(value) for name, value in primary_intervals(measured).items()}
    workers = dict(zip(measured.configurations, measured.levels, strict=True))
    state = f"undecided: {' and '.join(count(workers[name], 'workers') for name in open_)}" if open_ else "decided"
    return Look(
        blocks=blocks,
        confidence=confidence,
        enough=not open_,
        ended="" if open_ else "decided",
        widths={name: width for name, width in widths.items() if math.isfinite(width)},
        sentence=f"after {count(blocks, 'blocks')} at {reading(confidence, FRACTION)} confidence: {state}",
    )


def undecided(measured: RecordData) -> tuple[str, ...]:
    """The worker counts that more launches may still decide: the gain over the base, or a gate, is open and none is missed."""
    gates, results = check(measured), LazyResults(measured)
    return tuple(name for name in measured.configurations if name != measured.base and _is_open(measured, results, gates, name))


def _is_open(measured: RecordData, results: LazyResults, gates: Sequence[GateResult], name: str) -> bool:
    mine = [gate for gate in gates if gate.configuration == name]
    gains: Callable[[RecordData, LazyResults, str], Status] = catalog.part("kinds", measured.kind.name, "judging", "gains")
    gain = gains(measured, results, name)
    wrong = any(finding.severity == "fail" and finding.configuration == name for finding in examine(measured, "result"))
    if wrong or gain == "FAIL" or any(gate.status == "FAIL" for gate in mine):
        return False
    only_examples = [gate for gate in mine if gate.examples_needed and not gate.launches_needed]  # launches of the same ones cannot
    return gain == "INCONCLUSIVE" or any(gate.status == "INCONCLUSIVE" and gate not in only_examples for gate in mine)


def primary_intervals(measured: RecordData) -> dict[str, Estimate]:
    """ "metric at configuration" -> estimate, for the primary metric and the speedups; without absent ones."""
    primary = measured.experiment.comparison.primary
    names = deciding_metrics(measured.kind) if primary == "auto" else (primary,)
    results = computed(measured, (*names, "speedup"))
    by_metric: dict[str, Mapping[str, Estimate]] = {
        name: {key: value for key, value in results[name].items() if isinstance(value, Estimate)} for name in results
    }
    deciding = next((name for name in names if by_metric.get(name)), None)
    chosen = dict(by_metric[deciding]) if deciding is not None else {}
    intervals = {f"{deciding} at {key}": value for key, value in chosen.items()}
    speedups = {key: value for key, value in by_metric.get("speedup", {}).items() if key != measured.base}
    return {**intervals, **{f"speedup at {key}": value for key, value in speedups.items()}}


def half_width(interval: Estimate) -> float:
    """The larger distance from value to bound, as a fraction of the value; infinite if one is missing."""
    if interval.low == interval.high:
        return 0.0
    if interval.value == 0.0:
        return math.inf
    return max(interval.high - interval.value, interval.value - interval.low) / abs(interval.value)


def is_narrow(interval: Estimate, precision: float) -> bool:
    """True if both bounds lie within this fraction of the value."""
    return narrow_enough(Interval(value=interval.value, low=interval.low, high=interval.high), precision)


def disturbed(path: Path, launch: int) -> str:
    """Why a launch that just ended counts as disturbed, from telemetry alone; "" if it does not.

    Raises:
        RecordError: the record cannot be read.
    """
    record = open_record(path)
    tables = {"telemetry": record.table("telemetry")}
    measured = RecordData(experiment=record.experiment, manifest=record.manifest, state=record.state, sealed=record.sealed, tables=tables)
    return noise.disturbed(measured, launch)


def computed(measured: RecordData, names: tuple[str, ...]) -> dict[str, Mapping[str, Value]]:
    """Only these metrics and what they read: whatever is computed between launches delays the next one."""
    results = LazyResults(measured)
    return {name: results[name] for name in names if name in results}


def _sentence(blocks: int, confidence: float, precision: float, widths: Mapping[str, float], *, enough: bool) -> str:
    after = f"after {count(blocks, 'rounds')}"
    if not widths:
        return f"{after}: no primary number has been measured"
    widest = max(widths, key=lambda name: widths[name])
    width = f"{reading(widths[widest], FRACTION)} to either side" if math.isfinite(widths[widest]) else "without an interval"
    requested = f"{reading(precision, FRACTION)} required"
    level = f"at {reading(confidence, FRACTION)} confidence"
    which = f"the widest of {count(len(widths), 'intervals')}" if len(widths) > 1 else "the only interval"
    return f"{after} {which} is {widest}, {width} {level}; {requested}: {'enough' if enough else 'not yet'}"


FIRST_INTERVAL: Final = 3  # blocks; of fewer, an interval says little


@dataclass(frozen=True, kw_only=True)
class Provisional:
    """The table after some blocks: a caption, heads, and a row per configuration. Cells are text for people."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def lines(self) -> list[str]:
        """As plain text: numbers right-aligned, a cell with an interval left-aligned below its head."""
        table = [self.heads, *self.rows]
        widths = [max(len(row[index]) for row in table) for index in range(len(self.heads))]
        wide = ["[" in "".join(row[index] for row in self.rows) for index in range(len(self.heads))]
        cells = (
            [cell.ljust(width) if left else cell.rjust(width) for cell, width, left in zip(row, widths, wide, strict=True)] for row in table
        )
        return [self.caption, *("  " + "  ".join(row).rstrip() for row in cells)]


def blocks_done(progress: RunProgress) -> int:
    """The number of leading blocks in which every launch has ended."""
    ended = {row["slot"] for row in progress.rows if row["status"] in FINAL}
    waiting = [planned.block for planned in progress.plan if planned.role == "timed" and planned.slot not in ended]
    return min(waiting, default=_blocks(progress))


def after_block(progress: RunProgress) -> Provisional | None:
    """The table of a record that is still being written; None if its kind has none, or nothing has been measured.

    Raises:
        RecordError: the record cannot be read or holds a value that breaks a metric.
    """
    with judged_from(progress.record):
        measured = from_record(open_record(progress.record))
        metrics = about(measured)
        columns = _columns(metrics)
        results = computed(measured, tuple(metric.name for column in columns for metric in column))
    with_value = {name for name, values in results.items() if any(isinstance(value, Estimate) for value in values.values())}
    measurable = [[metric for metric in column if metric.name in with_value] for column in columns]
    chosen = [column[0] for column in measurable if column]
    names = [configuration.name for configuration in configurations(measured.experiment)]
    return table(names, chosen, results, blocks_done(progress), _blocks(progress), adaptive=progress.adaptive) if chosen else None


def _columns(metrics: Mapping[str, Metric]) -> list[list[Metric]]:
    """The metrics of each column, the preferred one first."""
    shown = RUNNING.of(metrics.values())
    return [[metric for _, metric in column] for _, column in groupby(shown, key=lambda pair: pair[0].above or pair[1].name)]


def table(
    names: Sequence[str],
    metrics: Sequence[Metric],
    results: Mapping[str, Mapping[str, Value]],
    done: int,
    blocks: int,
    *,
    adaptive: bool = False,
) -> Provisional:
    """The table of these metrics for these configurations, one scale per column."""
    intervals = done >= FIRST_INTERVAL
    head, labels = _levels(names)
    columns = [_column(metric, [results.get(metric.name, {}).get(name) for name in names], intervals) for metric in metrics]
    of = f"{done} of {'at most ' if adaptive else ''}{blocks} rounds"
    without = "" if intervals else ", no interval yet"
    return Provisional(
        caption=f"provisional, {of}{without}, no verdict",
        heads=(head, *(column[0] for column in columns)),
        rows=tuple((label, *(column[1][index] for column in columns)) for index, label in enumerate(labels)),
    )


def _levels(names: Sequence[str]) -> tuple[str, list[str]]:
    """ "workers=1", "workers=2" -> "workers", ["1", "2"]; other names as they are."""
    pairs = [name.partition("=") for name in names]
    if len({key for key, _, _ in pairs}) == 1 and all(equals and "=" not in value for _, equals, value in pairs):
        return one_line(pairs[0][0]), [one_line(value) for _, _, value in pairs]
    return "", [one_line(name) for name in names]


def _column(metric: Metric, values: Sequence[Value | None], intervals: bool) -> tuple[str, list[str]]:
    measured = [value for value in values if isinstance(value, Estimate)]
    scale = scale_for(metric.unit, [value.value for value in measured])
    title = next((column.head for column, _ in RUNNING.of([metric])), "") or metric.title
    head = title if title.endswith("/s") or not scale.label else f"{title}, {scale.label}"
    return head, [_cell(value, scale, intervals) if isinstance(value, Estimate) else "-" for value in values]


def _cell(estimate: Estimate, scale: Scale, intervals: bool) -> str:
    bare = Scale(factor=scale.factor)  # the unit stands in the head
    value = reading(estimate.value, estimate.unit, bare)
    if not intervals or not (math.isfinite(estimate.low) and math.isfinite(estimate.high)) or estimate.low == estimate.high:
        return value
    low = reading(estimate.low, estimate.unit, bare, way="down")
    return f"{value} [{low}, {reading(estimate.high, estimate.unit, bare, way='up')}]"


def _blocks(progress: RunProgress) -> int:
    return 1 + max((planned.block for planned in progress.plan if planned.role == "timed"), default=-1)
