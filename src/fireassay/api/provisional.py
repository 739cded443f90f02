"""What do the finished blocks of a running experiment say so far?

A table after every block, made between two launches from the record itself, with only the metrics of
`reports.metric_tables.RUNNING`.  Measured with 4 launches of the digits: 0.1 s of processor time, and once 1.1 s for the imports.
Three digits, an interval from block 3 on, never a mark or a status: stopping at a pleasant one would be optional stopping.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from fireassay.api.interim_analysis import computed
from fireassay.estimates.estimate import Estimate, Value
from fireassay.estimates.format import Scale, reading, scale_for
from fireassay.frames.record_data import from_record
from fireassay.metrics.metric import Metric
from fireassay.metrics.results import about
from fireassay.printable import one_line
from fireassay.record.reader import open_record
from fireassay.record.unjudged import judged_from
from fireassay.reports.metric_tables import RUNNING
from fireassay.runners.experiment.progress import FINAL, RunProgress
from fireassay.spec.plan import configurations

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
    of = f"{done} of {'at most ' if adaptive else ''}{blocks} blocks"
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
