"""Did a training converge as fast as its reference, or suspiciously faster?  MLPerf's reference convergence points (RCPs).

A submission's mean to converge (epochs or samples; fastest and slowest run dropped) must not be below the least mean that a one-sided
t-test at 5 % with the reference's deviation on both sides does not reject:

    least = mean - t(0.95; n + m - 2) * deviation * sqrt(1/n + 1/m)

with n runs of the reference and m of the submission, both without the dropped ones.  Between two batch sizes mean and deviation are
interpolated linearly, and n is twice the required runs; a point that lies above the line between its neighbours is dropped first, as are
those of smaller batches than the fastest.  Below the smallest batch the smallest point counts; beyond the largest there is no reference.
Source: mlperf-logging 4.1.68, rcp_checker; training_rules.adoc, "Reference Convergence Points".  (The checker bisects to 1e-4; this is exact.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

ALPHA: Final = 0.05
How = Literal["found", "interpolated", "smaller", "missing"]


@dataclass(frozen=True, kw_only=True)
class Point:
    """A reference at a global batch size."""

    batch: float
    mean: float
    deviation: float
    runs: int  # of the mean


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A submission's convergence against its reference."""

    passed: bool
    how: How
    mean: float
    reference: Point | None
    least: float
    factor: float  # >= 1, by which the score is multiplied if it converged faster than the reference's mean


def olympic_mean(values: Sequence[float]) -> float:
    """The mean without the lowest and the highest. Raises ValueError: fewer than three values."""
    if len(values) < 3:
        raise ValueError(f"an olympic mean needs three values, not {len(values)}")
    kept = sorted(values)[1:-1]
    return math.fsum(kept) / len(kept)


def least_mean(point: Point, runs: int, alpha: float = ALPHA) -> float:
    """The least mean of `runs` runs that is not significantly below the reference."""
    if point.deviation == 0.0:
        return point.mean
    from scipy.stats import t

    spread = point.deviation * math.sqrt(1.0 / point.runs + 1.0 / runs)
    return float(point.mean - t.ppf(1.0 - alpha, point.runs + runs - 2) * spread)


def between(batch: float, low: Point, high: Point, runs: int) -> Point:
    """The reference at a batch size between two points; of 2 x `runs` runs."""
    share = (batch - low.batch) / (high.batch - low.batch)
    return Point(
        batch=batch,
        mean=low.mean + share * (high.mean - low.mean),
        deviation=low.deviation + share * (high.deviation - low.deviation),
        runs=2 * runs,
    )


def pruned(points: Sequence[Point], runs: int) -> list[Point]:
    """The points that count, by batch size."""
    ordered = sorted(points, key=lambda point: point.batch)
    fastest = min(ordered, key=lambda point: point.mean)
    kept = [point for point in ordered if point.batch >= fastest.batch]
    index = 1
    while index < len(kept) - 1:
        if kept[index].mean > between(kept[index].batch, kept[index - 1], kept[index + 1], runs).mean:
            del kept[index]
        else:
            index += 1
    return kept


def converged(points: Sequence[Point], batch: float, values: Sequence[float], runs: int, allowance: float = 0.0) -> Judged:
    """Judge the amounts to converge of all runs; a run that did not is infinite.

    Args:
        points: the references of the benchmark.
        batch: global batch size of the submission.
        values: epochs or samples to converge, at least three.
        runs: that the benchmark requires.
        allowance: how far below the least mean passes too, in the unit of `values`.

    Raises:
        ValueError: fewer than three values.
    """
    mean = olympic_mean(values)
    how, reference = _reference(pruned(points, runs), batch, runs)
    if reference is None:
        return Judged(passed=False, how=how, mean=mean, reference=None, least=math.nan, factor=1.0)
    least = least_mean(reference, runs - 2) - allowance
    factor = max(1.0, reference.mean / mean) if mean > 0.0 else math.inf
    return Judged(passed=mean >= least, how=how, mean=mean, reference=reference, least=least, factor=factor)


def _reference(points: Sequence[Point], batch: float, runs: int) -> tuple[How, Point | None]:
    same = next((point for point in points if point.batch == batch), None)
    below = max((point for point in points if point.batch < batch), key=lambda point: point.batch, default=None)
    above = min((point for point in points if point.batch > batch), key=lambda point: point.batch, default=None)
    if same is not None:
        return "found", same
    if below is not None and above is not None:
        return "interpolated", between(batch, below, above, runs)
    return ("smaller", above) if above is not None else ("missing", None)
