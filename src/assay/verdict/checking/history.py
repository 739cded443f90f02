"""How did a metric go from record to record, and did it change?

Each record gives one value per metric and configuration: the mean of its launches, on logarithms where all are above 0.
`assay.stats.series.changes` decides about changes: certain ones at a rate of 1 % per series over its whole life, and a change that was
certain stays as records are added; suspected ones at 1 % per look, which may go.  The p-values of the clearest change of each series
are corrected over all series (Benjamini and Hochberg), and a series that does not stand is without certain change.
A step of the last one or two records is suspected whatever its size.  Records are in the order of their creation.
Cannot tell: what changed; and nothing at all of fewer than 10 records.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from assay.estimates.estimate import Estimate
from assay.estimates.format import given
from assay.metrics.base import Better
from assay.stats.comparing.between_records import LEAST_RECORDS, Between, Level, between, level
from assay.stats.comparing.comparison import Scale
from assay.stats.series.changes import LEVEL, Change, Changes, across_series, changes_in_history
from assay.verdict.comparison.groups import launch_values
from assay.verdict.comparison.types import Side

FAMILY = 0.05  # share of false findings among the series that are said to have changed


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
    changes: tuple[Change, ...]  # certain ones, and perhaps a suspected one; index: the first record of the new level
    outliers: tuple[int, ...]  # records far off their level, which are no part of it
    p_adjusted: float | None  # of the clearest change, over all series; None: too short to ask

    @property
    def certain(self) -> tuple[Change, ...]:
        """The changes that are findings."""
        return tuple(change for change in self.changes if change.kind == "change")

    @property
    def suspected(self) -> Change | None:
        """The change that may go as records are added."""
        return next((change for change in self.changes if change.kind == "suspected"), None)

    @property
    def levels(self) -> tuple[tuple[int, int, float], ...]:
        """The stretches between certain changes: first record, one past the last, and the mean in the metric's unit."""
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
        """What happened at a change, in words: "rose by 20 % (p = 0.001)"."""
        if change.p_value is None:
            return "suspected: fewer than 3 records carry it"
        before, after = self.around(change)
        word = "rose" if after > before else "fell"
        by = (
            f"by {given(100.0 * abs(after / before - 1.0), 3)} %"
            if self.scale == "ratio"
            else f"from {given(before, 4)} to {given(after, 4)}"
        )
        sure = "" if change.kind == "change" else "suspected, and not certain yet: "
        return f"{sure}{word} {by} (p = {given(change.p_value, 2)})"

    def span(self, change: Change) -> str:
        """Between which records a change lies, counted from 1, where one is not sure: ", first seen in 24 to 29"."""
        if change.earliest == change.latest:
            return ""
        return f", or another one from {change.earliest + 1} to {change.latest + 1}"

    def _mean(self, first: int, end: int) -> float:
        """A level holds no outlier, and not what is only suspected to have left it."""
        if self.suspected is not None and self.suspected.index > first:
            end = min(end, self.suspected.index)
        held = [self.points[i].level.mean for i in range(first, end) if i not in self.outliers]
        held = held or [point.level.mean for point in self.points[first:end]]
        return self._unit(math.fsum(held) / len(held))

    def _unit(self, mean: float) -> float:
        return math.exp(mean) if self.scale == "ratio" else mean


def in_order(sides: Sequence[Side]) -> list[Side]:
    """By the time of their creation."""
    return sorted(sides, key=lambda side: (str(side.measured.manifest.get("created_utc", "")), side.label))


def series(sides: Sequence[Side], metric: str, configuration: str) -> tuple[Scale, tuple[Point, ...]]:
    """The values of one metric over records, in order; records without one are left out."""
    found = [(side, value) for side in in_order(sides) if (value := estimate_of(side, metric, configuration)) is not None]
    everything = [number for _, value in found for number in launch_values(value)]
    scale: Scale = "ratio" if everything and min(everything) > 0.0 else "difference"
    return scale, tuple(
        Point(
            label=side.label,
            created_utc=str(side.measured.manifest.get("created_utc", "")),
            value=value,
            level=level(launch_values(value), scale),
        )
        for side, value in found
    )


def estimate_of(side: Side, metric: str, configuration: str) -> Estimate | None:
    """A value with finite launch values, or None."""
    value = side.judgement.results.get(metric, {}).get(configuration)
    if not isinstance(value, Estimate) or not (numbers := launch_values(value)):
        return None
    return value if all(math.isfinite(number) for number in numbers) else None


def histories(sides: Sequence[Side], pairs: Sequence[tuple[str, str]]) -> tuple[History, ...]:
    """One history for each (metric, configuration), with the changes that stand when all series are counted.

    `sides` must be comparable.
    """
    read = [(metric, configuration, *series(sides, metric, configuration)) for metric, configuration in pairs]
    standing = across_series([_changes(scale, points) for *_, scale, points in read], FAMILY)
    return tuple(_history(sides, *one, found) for one, found in zip(read, standing, strict=True))


def _changes(scale: Scale, points: Sequence[Point]) -> Changes:
    """A value of 0 has no logarithm: the records before it were asked on logarithms, and what they held stays."""
    values = [point.level.mean for point in points]
    if scale == "ratio":
        return changes_in_history(values)
    launches = [launch_values(point.value) for point in points]
    positive = itertools.takewhile(lambda numbers: min(numbers) > 0.0, launches)
    return changes_in_history(values, earlier=[level(numbers, "ratio").mean for numbers in positive])


def _history(sides: Sequence[Side], metric: str, configuration: str, scale: Scale, points: tuple[Point, ...], found: Changes) -> History:
    described = sides[0].judgement.metrics[metric]
    return History(
        metric=metric,
        title=described.title,
        unit=described.unit,
        better=described.better,
        configuration=configuration,
        scale=scale,
        points=points,
        changes=found.changes,
        outliers=found.outliers,
        p_adjusted=found.p_value,
    )


def rates(found: Sequence[History]) -> str:
    """What the changes of these histories may be by chance, in one sentence."""
    asked = sum(one.p_adjusted is not None for one in found)
    return (
        f"expected by chance in {asked} series without a change: {given(LEVEL * asked, 2)} certain changes over their whole "
        f"life (up to 500 records), however often they are looked at, and {given(LEVEL * asked, 2)} suspected ones at each look"
    )


def worth_showing(side: Side, primary: str) -> Iterator[tuple[str, str]]:
    """The (metric, configuration) pairs of a record that a history is kept of: the primary one, and every main metric."""
    for name, metric in side.judgement.metrics.items():
        if metric.better == "neither" or not (metric.primary or name == primary):
            continue
        for configuration in side.measured.configurations:
            found = estimate_of(side, name, configuration)
            if found is not None and (found.confidence < 1.0 or name == primary):  # a speedup of the base over itself
                yield name, configuration


def enough(points: Sequence[Point]) -> bool:
    """Whether the records can speak about days."""
    return len(points) >= LEAST_RECORDS
