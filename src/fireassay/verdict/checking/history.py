"""How did a metric develop from record to record, and did it change?

Each record gives one value per metric and configuration: the mean of its launches, on the log scale if all are above 0.
`fireassay.stats.series.changes` finds changes: certain ones at a false-alarm rate of 1 % per series over its whole life, which stay as
records are added; suspected ones at 1 % per analysis, which may vanish. The p-values of the clearest change of each series are corrected
over all series (Benjamini and Hochberg); a series that is not significant has no certain change.
A step in the last one or two records is only suspected, whatever its size. Records are ordered by creation time.
Cannot tell: the cause of a change; anything with fewer than 10 records.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import given
from fireassay.metrics.metric import Better, Metric
from fireassay.stats.comparing.between_records import Between, Level, between, level
from fireassay.stats.comparing.comparison import Scale
from fireassay.stats.series.changes import LEVEL, Change, Changes, across_series, changes_in_history
from fireassay.verdict.comparison.groups import launch_values
from fireassay.verdict.comparison.types import Side

FAMILY = 0.05  # false discovery rate among series reported as changed


@dataclass(frozen=True, kw_only=True)
class Point:
    """One record in a history."""

    label: str
    created_utc: str
    value: Estimate
    level: Level


@dataclass(frozen=True, kw_only=True)
class History:
    """One metric of one configuration over records, the oldest first."""

    metric: str
    title: str
    unit: str
    better: Better
    configuration: str
    scale: Scale
    points: tuple[Point, ...]
    changes: tuple[Change, ...] = ()  # certain ones, and perhaps a suspected one; index: first record of the new level
    outliers: tuple[int, ...] = ()  # records far off their level, excluded from it
    p_adjusted: float | None = None  # of the clearest change, over all series; None: too short to test

    @property
    def certain(self) -> tuple[Change, ...]:
        """Certain changes: the findings."""
        return tuple(change for change in self.changes if change.kind == "change")

    @property
    def suspected(self) -> Change | None:
        """The suspected change, which may vanish as records are added."""
        return next((change for change in self.changes if change.kind == "suspected"), None)

    @property
    def levels(self) -> tuple[tuple[int, int, float], ...]:
        """Segments between certain changes: first record, one past the last, and mean in the metric's unit."""
        edges = [0, *(change.index for change in self.certain), len(self.points)]
        return tuple((a, b, self._mean(a, b)) for a, b in pairwise(edges) if b > a)

    @property
    def days(self) -> Between | None:
        """The variation between the records since the last certain change."""
        if not self.points:
            return None
        return between([point.level for point in self.points[self.levels[-1][0] :]])

    def around(self, change: Change) -> tuple[float, float]:
        """The levels before and after a change, in the metric's unit."""
        return self._unit(change.before), self._unit(change.after)

    def moved(self, change: Change) -> str:
        """A change in words: "rose by 20 % (p = 0.001)"."""
        if change.p_value is None:
            return "suspected: fewer than 3 records support it"
        before, after = self.around(change)
        word = "rose" if after > before else "fell"
        by = (
            f"by {given(100.0 * abs(after / before - 1.0), 3)} %"
            if self.scale == "ratio"
            else f"from {given(before, 4)} to {given(after, 4)}"
        )
        sure = "" if change.kind == "change" else "suspected, not yet certain: "
        return f"{sure}{word} {by} (p = {given(change.p_value, 2)})"

    def span(self, change: Change) -> str:
        """The range of records, from 1, if the location of a change is uncertain: ", or another one from 24 to 29"."""
        if change.earliest == change.latest:
            return ""
        return f", or another one from {change.earliest + 1} to {change.latest + 1}"

    def _mean(self, first: int, end: int) -> float:
        """Mean of a level, without outliers and without records after a suspected change."""
        if self.suspected is not None and self.suspected.index > first:
            end = min(end, self.suspected.index)
        held = [self.points[i].level.mean for i in range(first, end) if i not in self.outliers]
        held = held or [point.level.mean for point in self.points[first:end]]
        return self._unit(math.fsum(held) / len(held))

    def _unit(self, mean: float) -> float:
        return math.exp(mean) if self.scale == "ratio" else mean


def in_order(sides: Sequence[Side]) -> list[Side]:
    """Sort by creation time."""
    return sorted(sides, key=lambda side: (str(side.measured.manifest.get("created_utc", "")), side.label))


def series(sides: Sequence[Side], metric: str, configuration: str) -> tuple[Scale, tuple[Point, ...]]:
    """Scale and values of one metric over records, in order; records without a value are left out."""
    pairs = [(side, value) for side in in_order(sides) if (value := estimate_of(side, metric, configuration)) is not None]
    everything = [number for _, value in pairs for number in launch_values(value)]
    scale: Scale = "ratio" if everything and min(everything) > 0.0 else "difference"
    return scale, tuple(
        Point(
            label=side.label,
            created_utc=str(side.measured.manifest.get("created_utc", "")),
            value=value,
            level=level(launch_values(value), scale),
        )
        for side, value in pairs
    )


def estimate_of(side: Side, metric: str, configuration: str) -> Estimate | None:
    """A value with finite launch values, or None."""
    value = side.judgement.results.get(metric, {}).get(configuration)
    if not isinstance(value, Estimate) or not (numbers := launch_values(value)):
        return None
    return value if all(math.isfinite(number) for number in numbers) else None


def histories(sides: Sequence[Side], pairs: Sequence[tuple[str, str]]) -> tuple[History, ...]:
    """One history per (metric, configuration), with the changes that remain after correction over all series.

    `sides` must be comparable.
    """
    described = sides[0].judgement.metrics
    return tested([_history(described[metric], configuration, *series(sides, metric, configuration)) for metric, configuration in pairs])


def tested(found: Sequence[History]) -> tuple[History, ...]:
    """The histories with the changes that remain after correction over all of them."""
    standing = across_series([_changes(one.scale, one.points) for one in found], FAMILY)
    return tuple(
        replace(one, changes=changes.changes, outliers=changes.outliers, p_adjusted=changes.p_value)
        for one, changes in zip(found, standing, strict=True)
    )


def _changes(scale: Scale, points: Sequence[Point]) -> Changes:
    """Changes; a value of 0 has no logarithm, but changes found on the log scale before it remain."""
    values = [point.level.mean for point in points]
    if scale == "ratio":
        return changes_in_history(values)
    launches = [launch_values(point.value) for point in points]
    positive = itertools.takewhile(lambda numbers: min(numbers) > 0.0, launches)
    return changes_in_history(values, earlier=[level(numbers, "ratio").mean for numbers in positive])


def _history(described: Metric, configuration: str, scale: Scale, points: tuple[Point, ...]) -> History:
    return History(
        metric=described.name,
        title=described.title,
        unit=described.unit,
        better=described.better,
        configuration=configuration,
        scale=scale,
        points=points,
    )


def rates(series: Sequence[History]) -> str:
    """The chance of false changes in these histories, in one sentence."""
    tested = sum(history.p_adjusted is not None for history in series)
    return (
        f"expected by chance in {tested} series without a change: {given(LEVEL * tested, 2)} certain changes over their whole "
        f"life (up to 500 records) across all interim analyses, and {given(LEVEL * tested, 2)} suspected changes at each analysis"
    )


def worth_showing(side: Side, primary: str) -> Iterator[tuple[str, str]]:
    """(metric, configuration) pairs with a history: the primary metric and every main metric."""
    for name, metric in side.judgement.metrics.items():
        if metric.better == "neither" or not (metric.primary or name == primary):
            continue
        for configuration in side.measured.configurations:
            value = estimate_of(side, name, configuration)
            if value is not None and (value.confidence < 1.0 or name == primary):  # excludes the base's speedup over itself
                yield name, configuration
