"""How did a metric go from record to record, and did it change?

Each record gives one value per metric and configuration: the mean of its launches, on logarithms where all are above 0.
`assay.stats.changes` decides about changes, calibrated, at a family rate of 1 % per series; p-values of the clearest change of
each series are then corrected over all series (Benjamini and Hochberg), and a series that does not stand is without change.
A step of the last one or two records is suspected and no finding.  Records are in the order of their creation.
Cannot tell: what changed; and nothing at all of fewer than 10 records.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from assay.metrics.base import Better
from assay.metrics.estimate import Estimate
from assay.metrics.format import given
from assay.stats.between_records import LEAST_RECORDS, Between, Level, between, level
from assay.stats.changes import SUPPORT, Change, across_series, change_in_history, changes_in_history, cusum
from assay.stats.comparison import Scale
from assay.verdict.arms import launch_values
from assay.verdict.compared import Side

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
    changes: tuple[
        Change, ...
    ]  # found ones, and perhaps a suspected one at the end; index: the first record of the new level
    p_adjusted: float | None  # of the clearest change, over all series; None: too short to ask

    @property
    def levels(self) -> tuple[tuple[int, int, float], ...]:
        """The stretches between found changes: first record, one past the last, and the mean in the metric's unit."""
        edges = [0, *(c.index for c in self.changes if c.kind == "change" and c.index is not None), len(self.points)]
        return tuple((a, b, self._mean(a, b)) for a, b in pairwise(edges) if b > a)

    @property
    def days(self) -> Between | None:
        """The variation between the records since the last found change."""
        if not self.points:
            return None
        return between([point.level for point in self.points[self.levels[-1][0] :]])

    def around(self, at: int) -> tuple[float, float]:
        """The levels before and after a found change, in the metric's unit."""
        place = next(i for i, (first, _, _) in enumerate(self.levels) if first == at)
        return self.levels[place - 1][2], self.levels[place][2]

    def moved(self, change: Change) -> str:
        """What happened at a change, in words: "rose by 20 % (p = 0.001)"."""
        if change.kind != "change" or change.index is None:
            return "suspected: fewer than 3 records carry it"
        before, after = self.around(change.index)
        word = "rose" if after > before else "fell"
        by = (
            f"by {given(100.0 * abs(after / before - 1.0), 3)} %"
            if self.scale == "ratio"
            else f"from {given(before, 4)} to {given(after, 4)}"
        )
        return f"{word} {by} (p = {given(change.p_value or 0.0, 2)})"

    def _mean(self, first: int, end: int) -> float:
        """A level does not hold what is only suspected to have left it."""
        suspected = [c.index for c in self.changes if c.kind == "suspected" and c.index is not None and c.index > first]
        end = min([end, *suspected])
        mean = math.fsum(point.level.mean for point in self.points[first:end]) / (end - first)
        return math.exp(mean) if self.scale == "ratio" else mean


def in_order(sides: Sequence[Side]) -> list[Side]:
    """By the time of their creation."""
    return sorted(sides, key=lambda side: (str(side.measured.manifest.get("created_utc", "")), side.label))


def series(sides: Sequence[Side], metric: str, configuration: str) -> tuple[Scale, tuple[Point, ...]]:
    """The values of one metric over records, in order; records without one are left out."""
    found = [
        (side, value) for side in in_order(sides) if (value := estimate_of(side, metric, configuration)) is not None
    ]
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


def histories(sides: Sequence[Side], pairs: Sequence[tuple[str, str]], seed: int) -> tuple[History, ...]:
    """One history for each (metric, configuration), with the changes that stand when all series are counted.

    `sides` must be comparable; `seed` fixes the permutations.
    """
    read = [(metric, configuration, *series(sides, metric, configuration)) for metric, configuration in pairs]
    looked = [change_in_history([p.level.mean for p in points], seed) for *_, points in read]
    standing = across_series(looked, FAMILY)
    return tuple(
        _history(sides, *one, before=first, after=after, seed=seed)
        for one, first, after in zip(read, looked, standing, strict=True)
    )


def _history(
    sides: Sequence[Side], metric: str, configuration: str, scale: Scale, points: tuple[Point, ...],
    *, before: Change, after: Change, seed: int,
) -> History:  # fmt: skip
    values = [point.level.mean for point in points]
    changes = changes_in_history(values, seed)
    if before.kind == "change" and after.kind != "change":  # it does not stand beside the other series
        changes = tuple(change for change in changes if change.kind == "suspected")
    changes = _placed(changes, values)
    described = sides[0].judgement.metrics[metric]
    return History(
        metric=metric, title=described.title, unit=described.unit, better=described.better, configuration=configuration,
        scale=scale, points=points, changes=changes, p_adjusted=after.p_value,
    )  # fmt: skip


def _placed(changes: tuple[Change, ...], values: Sequence[float]) -> tuple[Change, ...]:
    """Each found change where the two stretches beside it differ most: PELT's segments are at least 5 records long, and a
    change that three records carry would be put two records too early."""
    found = [change for change in changes if change.kind == "change" and change.index is not None]
    edges = [0, *(change.index or 0 for change in found), len(values)]
    for place, change in enumerate(found, start=1):
        begin, end = edges[place - 1], edges[place + 1]
        if end - begin >= 2 * SUPPORT:
            edges[place] = begin + cusum(values[begin:end])[1]
        found[place - 1] = replace(change, index=edges[place])
    return (*found, *(change for change in changes if change.kind != "change"))


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
