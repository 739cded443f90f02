"""What does judging say to measuring while an experiment runs?  Whether the intervals are narrow, and what was disturbed.

Here the two meet: the runner knows when it may ask, the metrics and the statistics know the answer.  A look opens the
unsealed record, makes the intervals of the primary numbers as the report will make them, and holds their half-widths
against `launches.precision`.  Primary is `comparison.primary` at every level, and the speedup at every level but the base.
When looks happen and at which confidence they are made is decided by `assay.stats.comparing.sequential`; the first one comes after
`launches.per_configuration` blocks, but never before the fifth, for fewer leave the spread all but unknown.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.record.reader import open_record
from assay.runners.experiment.context import Advice
from assay.runners.experiment.progress import Look
from assay.stats.comparing.sequential import FIRST_LOOK, GROWTH, look_confidence, narrow_enough, next_look

if TYPE_CHECKING:
    from assay.estimates.estimate import Estimate, Value
    from assay.frames.record_data import Measured
    from assay.metrics.base import Metric
    from assay.spec.experiment import Experiment


def advice() -> Advice:
    """What `assay.run`, `run`, `resume` and `run_together` are handed."""
    return Advice(looks=looks, look=look, disturbed=disturbed, profiled=profiled)


def profiled(trace: Mapping[str, Any]) -> dict[str, Any]:
    """What the trace of a profiled rank says: see `assay.frames.training.profile_summary`."""
    from assay.frames.training.profile_summary import summary

    return summary(trace)


def looks(experiment: Experiment) -> Iterator[int]:
    """Numbers of blocks after which to look: each at least half as many again as the one before, without end."""
    blocks = max(experiment.launches.per_configuration, FIRST_LOOK)
    while True:
        yield blocks
        blocks = next_look(math.ceil(GROWTH * blocks) - 1)


def look(path: Path, blocks: int) -> Look:
    """Make the primary intervals of a record that is still being written.

    Raises:
        RecordError: the record cannot be read.
    """
    from assay.frames.record_data import from_record

    measured = from_record(open_record(path))
    confidence = look_confidence(measured.experiment.launches.confidence)
    # The intervals as the report will make them, if this look is the last: the manifest then holds its confidence.
    measured = replace(measured, manifest={**measured.manifest, "looks": [{"confidence": confidence}]})
    precision = measured.experiment.launches.precision
    assert precision is not None  # nobody looks otherwise
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


def primary_intervals(measured: Measured) -> dict[str, Estimate]:
    """ "metric at configuration" -> its estimate, of the metric that decides and of the speedups; absent ones are left out."""
    from assay.estimates.estimate import Estimate
    from assay.verdict.comparison.rules import deciding_metrics

    asked = measured.experiment.comparison.primary
    names = deciding_metrics(measured.kind) if asked == "auto" else (asked,)
    results = _computed(measured, (*names, "speedup"))
    found: dict[str, Mapping[str, Estimate]] = {
        name: {key: value for key, value in results[name].items() if isinstance(value, Estimate)} for name in results
    }
    deciding = next((name for name in names if found.get(name)), None)
    chosen = dict(found[deciding]) if deciding is not None else {}
    intervals = {f"{deciding} at {key}": value for key, value in chosen.items()}
    speedups = {key: value for key, value in found.get("speedup", {}).items() if key != measured.base}
    return {**intervals, **{f"speedup at {key}": value for key, value in speedups.items()}}


def half_width(interval: Estimate) -> float:
    """The larger distance from the value to an end, as a fraction of the value; infinite where an end or the value is missing."""
    if interval.low == interval.high:
        return 0.0
    if interval.value == 0.0:
        return math.inf
    return max(interval.high - interval.value, interval.value - interval.low) / abs(interval.value)


def is_narrow(interval: Estimate, precision: float) -> bool:
    """Whether both ends lie within the fraction of the value."""
    from assay.stats.intervals.intervals import Interval

    return narrow_enough(Interval(value=interval.value, low=interval.low, high=interval.high), precision)


def disturbed(path: Path, launch: int) -> str:
    """Why a launch that has just ended counts as disturbed; "" if it does not. Nothing but telemetry is looked at.

    Raises:
        RecordError: the record cannot be read.
    """
    from assay.frames import noise
    from assay.frames.record_data import Measured

    record = open_record(path)
    tables = {"telemetry": record.table("telemetry")}
    measured = Measured(experiment=record.experiment, manifest=record.manifest, state=record.state, sealed=record.sealed, tables=tables)
    return noise.disturbed(measured, launch)


def _computed(measured: Measured, names: tuple[str, ...]) -> dict[str, Mapping[str, Value]]:
    """These metrics and what they come after, and no others: a look happens between two launches."""
    from assay.verdict.judge import about, compute

    known: Mapping[str, Metric] = about(measured)
    wanted, waiting = set[str](), [name for name in names if name in known]
    while waiting:
        name = waiting.pop()
        wanted.add(name)
        waiting += [other for other in known[name].after if other not in wanted]
    return compute(measured, {name: known[name] for name in wanted})


def _sentence(blocks: int, confidence: float, precision: float, widths: Mapping[str, float], *, enough: bool) -> str:
    from assay.estimates.format import count, reading
    from assay.units import FRACTION

    after = f"after {count(blocks, 'blocks')}"
    if not widths:
        return f"{after}: none of the primary numbers has been measured"
    widest = max(widths, key=lambda name: widths[name])
    wide = f"{reading(widths[widest], FRACTION)} to either side" if math.isfinite(widths[widest]) else "without an interval"
    asked = f"{reading(precision, FRACTION)} asked for"
    sure = f"at {reading(confidence, FRACTION)} confidence"
    which = f"the widest of {count(len(widths), 'intervals')}" if len(widths) > 1 else "the only interval"
    return f"{after} {which} is {widest}, {wide} {sure}; {asked}: {'enough' if enough else 'not yet'}"
