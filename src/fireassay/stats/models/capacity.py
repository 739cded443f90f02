"""What is the highest load at which enough requests meet their objectives?

Every launch gives (load, hits, total).  Assuming that more load never helps, the log odds of a miss, pooled over the launches of
a load, are made monotone in the load (pool adjacent violators) and joined linearly; the misses of an M/M/1 queue lie almost
exactly on such lines.  The capacity is where the line crosses the allowed odds.

Interval: all loads at which the allowed odds lie within Student's t of the line.  Its error comes from the spread between
launches (`means.quotient` residuals, delta method), paired by block, and is at least binomial.  A load without a miss counts as
half a miss in one more request.  Refused (`Capacity.refused`) if the loads do not bracket the crossing, or with fewer than 3
launches at the loads next to it.  On simulated M/M/1 queues the 95 % interval covers 95 to 98 % from 5 launches of 1,000 requests
on, and more if it is wide: up to 99.7 % with 3 launches of 200 (tests/stats/models/test_capacity.py).
Cannot tell: anything between two measured loads that departs from the line, or beyond them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from fireassay.stats.intervals.intervals import fraction, t_quantile

MIN_LAUNCHES: Final = 3
STEPS: Final = 256  # points between two loads at which the band is evaluated


@dataclass(frozen=True, kw_only=True)
class Point:
    """One launch: its load, and how many of its requests met their objectives."""

    load: float
    hits: float
    total: float
    block: int


@dataclass(frozen=True, kw_only=True)
class Capacity:
    """The crossing and its interval; infinite or 0 on a side that the data leave open.  `refused`: why there is none."""

    value: float
    low: float
    high: float
    launches: int
    refused: str = ""


@dataclass(frozen=True, kw_only=True)
class _Level:
    load: float
    odds: float  # log odds of a miss
    residuals: dict[int, float]  # block -> its launch's contribution to the error of the odds, times the number of launches
    floor: float  # binomial variance


def capacity(points: Sequence[Point], target: float, confidence: float) -> Capacity:
    """The highest load at which at least the share `target` (strictly within 0..1) of the requests meets its objectives.

    ValueError without points, for a point without requests or with a load not above 0, and for a target or confidence outside 0..1.
    """
    _check(points, target, confidence)
    levels = [_level(load, [p for p in points if p.load == load]) for load in sorted({p.load for p in points})]
    allowed = math.log1p(-target) - math.log(target)
    odds = _monotone([level.odds for level in levels], [_weight(points, level.load) for level in levels])
    refused = _refused(levels, odds, allowed, points, target)
    if refused:
        return Capacity(value=math.nan, low=0.0, high=math.inf, launches=len(points), refused=refused)
    loads = [level.load for level in levels]
    after = next(i for i, value in enumerate(odds) if value > allowed)
    share = (allowed - odds[after - 1]) / (odds[after] - odds[after - 1])
    value = loads[after - 1] + share * (loads[after] - loads[after - 1])
    band = list(_band(levels, odds, confidence))
    inside = [load for load, middle, half in band if abs(middle - allowed) <= half]
    low, high = min([*inside, value]), max([*inside, value])
    return Capacity(value=value, low=0.0 if low <= loads[0] else low, high=math.inf if high >= loads[-1] else high, launches=len(points))


def _level(load: float, points: Sequence[Point]) -> _Level:
    totals = np.array([point.total for point in points])
    misses = totals - np.array([point.hits for point in points])
    every = float(totals.sum())
    share = (float(misses.sum()) + 0.5) / (every + 1.0)
    spread = share * (1.0 - share)
    off = (misses - float(misses.sum()) / every * totals) / float(totals.mean()) / spread
    return _Level(
        load=load,
        odds=math.log(share) - math.log1p(-share),
        floor=1.0 / (every * spread),
        residuals={point.block: float(residual) for point, residual in zip(points, off, strict=True)},
    )


def _weight(points: Sequence[Point], load: float) -> float:
    return sum(point.total for point in points if point.load == load)


def _monotone(values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Pool adjacent violators: the nearest non-decreasing values (Barlow et al., 1972)."""
    blocks: list[tuple[float, float, int]] = []  # value, weight, length
    for value, weight in zip(values, weights, strict=True):
        blocks.append((value, weight, 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (a, u, m), (b, v, n) = blocks[-2:]
            blocks[-2:] = [((a * u + b * v) / (u + v), u + v, m + n)]
    return [value for value, _, length in blocks for _ in range(length)]


def _band(levels: Sequence[_Level], odds: Sequence[float], confidence: float) -> Iterator[tuple[float, float, float]]:
    """(load, log odds, half-width) along the line."""
    if len(levels) == 1:
        yield levels[0].load, odds[0], math.inf
    for (a, b), (y, z) in zip(pairwise(levels), pairwise(odds), strict=True):
        for share in np.linspace(0.0, 1.0, STEPS + 1).tolist():
            half = _half_width(a, b, share, confidence)
            yield a.load + share * (b.load - a.load), y + share * (z - y), half


def _half_width(a: _Level, b: _Level, share: float, confidence: float) -> float:
    shared = sorted(a.residuals.keys() & b.residuals.keys())
    upper = (1.0 + confidence) / 2.0
    floor = (1.0 - share) ** 2 * a.floor + share**2 * b.floor
    if len(shared) < max(len(a.residuals), len(b.residuals)):  # different blocks: assume full correlation, which is wider
        parts = [_standard_error(list(level.residuals.values())) for level in (a, b)]
        launches, between = min(len(a.residuals), len(b.residuals)), (1.0 - share) * parts[0] + share * parts[1]
    else:
        launches = len(shared)
        between = _standard_error([(1.0 - share) * a.residuals[block] + share * b.residuals[block] for block in shared])
    if launches < 2:
        return math.inf
    return max(t_quantile(upper, launches - 1) * between, t_quantile(upper, math.inf) * math.sqrt(floor))


def _standard_error(residuals: Sequence[float]) -> float:
    k = len(residuals)
    return math.sqrt(sum(residual * residual for residual in residuals) / (k - 1) / k) if k > 1 else math.inf


def _refused(levels: Sequence[_Level], odds: Sequence[float], allowed: float, points: Sequence[Point], target: float) -> str:
    if odds[0] > allowed:
        lowest = [point for point in points if point.load == levels[0].load]
        hits, total = sum(point.hits for point in lowest), sum(point.total for point in lowest)
        if hits >= target * total:  # met, but not with half a miss more: the load has too few requests
            few = f"{hits:g} of {total:g} requests at the lowest load, {levels[0].load:g}, meet the objectives"
            return f"{few}, too few to exclude less than {100 * target:g} %; measure it for longer"
        return f"even at the lowest load, {levels[0].load:g}, fewer than {100 * target:g} % of the requests meet the objectives; measure lower loads"
    if odds[-1] <= allowed:
        return (
            f"at every load up to {levels[-1].load:g} at least {100 * target:g} % of the requests meet the objectives; measure higher loads"
        )
    after = next(i for i, value in enumerate(odds) if value > allowed)
    launches = [sum(point.load == levels[i].load for point in points) for i in (after - 1, after)]
    if min(launches) < MIN_LAUNCHES:
        around = f"{levels[after - 1].load:g} and {levels[after].load:g}"
        return f"the loads next to the crossing, {around}, need at least {MIN_LAUNCHES} launches each"
    return ""


def _check(points: Sequence[Point], target: float, confidence: float) -> None:
    if not points:
        raise ValueError("a capacity needs at least one launch")
    for point in points:
        if not (point.load > 0.0 and point.total > 0.0 and 0.0 <= point.hits <= point.total):
            raise ValueError(f"a launch needs a load above 0, requests, and 0 <= hits <= requests, not {point}")
    for name, value in (("target", target), ("confidence", confidence)):
        fraction(value, name)
