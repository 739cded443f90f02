"""Are the intervals of a running experiment narrow enough, and was a launch disturbed?

The interface between measuring and judging: the runner schedules an interim analysis, metrics and statistics evaluate it.  It opens
the unsealed record, computes the intervals of the primary numbers as the report will, and compares their half-widths with
`launches.precision`.  The primary numbers are `comparison.primary` at every level, and the speedup at every level but the base.
`fireassay.stats.comparing.multiplicity` sets the times and confidence of interim analyses; the first follows
`launches.per_configuration` blocks, but not before the fifth, as fewer barely determine the spread.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from fireassay.estimates.estimate import Estimate, Value
from fireassay.estimates.format import count, reading
from fireassay.frames import noise
from fireassay.frames.record_data import RecordData, from_record
from fireassay.frames.training.profile_summary import summary
from fireassay.metrics.results import LazyResults, deciding_metrics
from fireassay.record.reader import open_record
from fireassay.runners.experiment.context import Advice
from fireassay.runners.experiment.progress import Look
from fireassay.spec.experiment import Experiment
from fireassay.stats.comparing.multiplicity import FIRST_ANALYSIS, GROWTH, analysis_confidence, narrow_enough, next_analysis
from fireassay.stats.intervals.intervals import Interval
from fireassay.units import FRACTION


def advice() -> Advice:
    """The functions that `fireassay.run`, `run`, `resume` and `run_together` receive."""
    return Advice(looks=looks, look=look, disturbed=disturbed, profiled=profiled)


def profiled(trace: Mapping[str, Any]) -> dict[str, Any]:
    """Summary of a profiled rank's trace: see `fireassay.frames.training.profile_summary`."""
    return summary(trace)


def looks(experiment: Experiment) -> Iterator[int]:
    """Endless series of block counts with an interim analysis, each at least 1.5 times the previous one."""
    blocks = max(experiment.launches.per_configuration, FIRST_ANALYSIS)
    while True:
        yield blocks
        blocks = next_analysis(math.ceil(GROWTH * blocks) - 1)


def look(path: Path, blocks: int) -> Look:
    """Compute the primary intervals of a record that is still being written.

    Raises:
        RecordError: the record cannot be read.
    """
    measured = from_record(open_record(path))
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
    after = f"after {count(blocks, 'blocks')}"
    if not widths:
        return f"{after}: no primary number has been measured"
    widest = max(widths, key=lambda name: widths[name])
    width = f"{reading(widths[widest], FRACTION)} to either side" if math.isfinite(widths[widest]) else "without an interval"
    requested = f"{reading(precision, FRACTION)} required"
    level = f"at {reading(confidence, FRACTION)} confidence"
    which = f"the widest of {count(len(widths), 'intervals')}" if len(widths) > 1 else "the only interval"
    return f"{after} {which} is {widest}, {width} {level}; {requested}: {'enough' if enough else 'not yet'}"
