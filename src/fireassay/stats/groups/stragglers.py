"""Which rank is slower than the others, and in which phase, beyond chance and machine noise?

Input: each rank's own time in each phase of every step, without waiting for other ranks.  For a rank and phase:
    blocks = means over stretches of steps, so that a rank that is late only in some steps is found too;
    excess of a block = own mean - upper median of the other ranks' means in the same block: shared effects cancel, a fast rank
    (one that computes while the others sleep) makes no other slow, and ranks that take turns at being late cancel if blocks are
    longer than their turns (step by step, each would be late by its share);
    interval = exact order statistics of the blocks' median (David & Nagaraja, 7.1), distribution-free, at 1 - family/(ranks x
    phases) (Bonferroni over all ranks and phases); n dependent blocks count as n/tau, tau the autocorrelation time of
    "this block is above the least excess" (`fireassay.stats.intervals.autocorrelation`).
Reported: ranks and phases whose interval lies above the least excess that matters, the larger of 2 ms and 5 % of the median
step.  A clean run is one whose ranks differ by less; the chance of any false report in it is below `family`.
Cannot tell: lateness in fewer than about half of the blocks; half of the ranks being slow together; why; whether slowness that
lasted a whole launch recurs (compare launches).

The slowest of p workers that differ only by chance (`slowest_of`): mean of the largest of p lognormals with mean 1 and standard deviation
`spread` of the logarithm: the integral of exp(spread z - spread^2/2) p phi(z) Phi(z)^(p-1), which grows like exp(spread sqrt(2 ln p)).
Source: David & Nagaraja, "Order Statistics", 3.1.  Cannot tell: the effect of a worker that is always slow.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fireassay.stats.intervals.autocorrelation import integrated_time
from fireassay.stats.intervals.intervals import Interval, order_ranks

Array = NDArray[np.float64]

FAMILY: Final = 0.01  # chance of any false report among all ranks and phases of a launch
MIN_S: Final = 0.002
MIN_SHARE: Final = 0.05  # of the median step
SPARE: Final = 2  # times the fewest blocks for an interval, to tolerate outliers


@dataclass(frozen=True, kw_only=True)
class Excess:
    """A rank's time in a phase beyond the other ranks': median of the blocks and its interval, in seconds a step."""

    rank: int  # column of the arrays
    phase: str
    seconds: Interval


@dataclass(frozen=True, kw_only=True)
class Search:
    """The threshold and the findings, largest excess first."""

    found: tuple[Excess, ...]
    least_s: float  # smaller excesses are ignored
    steps: int
    insufficient: str = ""  # why there is no answer; empty if there is


def search(
    own: Mapping[str, Array], step_s: Array, *, family: float = FAMILY, least_s: float = MIN_S, least_share: float = MIN_SHARE
) -> Search:
    """Find ranks and phases slower than the others.

    `own`: phase -> seconds, shape [steps, ranks], all of one shape, or their means over `block_count` stretches; `step_s`: seconds of each
    step, shape [steps].
    ValueError: shapes differ, or a number is not finite.
    """
    steps, ranks = len(step_s), _ranks(own, step_s, family)
    if not own or ranks < 2 or steps == 0:
        return Search(found=(), least_s=least_s, steps=steps, insufficient="fewer than two ranks, or no phase, recorded")
    least = max(least_s, least_share * float(np.median(step_s)))
    confidence, fewest = _needed(ranks, len(own), family)
    if steps < fewest:
        missing = f"{steps} steps are too few to name one of {ranks} ranks in {len(own)} phases; {fewest} are needed"
        return Search(found=(), least_s=least, steps=steps, insufficient=missing)
    excesses = [
        Excess(rank=rank, phase=phase, seconds=interval)
        for phase, seconds in own.items()
        for rank, interval in _above(beyond_others(blocks(seconds, block_count(steps, ranks, len(own), family))), confidence, least)
    ]
    return Search(found=tuple(sorted(excesses, key=lambda excess: -excess.seconds.value)), least_s=least, steps=steps)


def block_count(steps: int, ranks: int, phases: int, family: float = FAMILY) -> int:
    """The number of stretches of steps whose means are compared."""
    return min(steps, SPARE * _needed(ranks, phases, family)[1])


def _needed(ranks: int, phases: int, family: float) -> tuple[float, int]:
    confidence = 1.0 - family / (ranks * phases)
    return confidence, fewest_blocks(confidence)


def fewest_blocks(confidence: float) -> int:
    """Fewest independent values whose smallest bounds their median at this confidence: 2^-n <= (1 - confidence)/2."""
    return math.ceil(math.log2(2.0 / (1.0 - confidence)) - 1e-9)


def beyond_others(seconds: Array) -> Array:
    """Each rank's seconds less the upper median of the other ranks in the same step; shape [steps, ranks], at least 2 ranks."""
    ordered = np.sort(seconds, axis=1)
    position = np.argsort(np.argsort(seconds, axis=1, kind="stable"), axis=1)
    middle = (seconds.shape[1] - 1) // 2  # of the others; the rank itself is skipped
    return np.asarray(seconds - np.where(middle < position, ordered[:, [middle]], ordered[:, [middle + 1]]))


def lost_waiting(own_s: Array) -> Array:
    """Seconds per step that the mean rank waits for the slowest one; `own_s` of shape [steps, ranks]."""
    return np.asarray((own_s.max(axis=1, keepdims=True) - own_s).mean(axis=1))


def blocks(seconds: Array, count: int) -> Array:
    """Means over `count` stretches of steps of near-equal length; shape [count, ranks]."""
    edges = np.linspace(0, len(seconds), count + 1).astype(int)
    return np.asarray(np.add.reduceat(seconds, edges[:-1], axis=0) / np.diff(edges)[:, None])


def _above(blocks: Array, confidence: float, least: float) -> list[tuple[int, Interval]]:
    """(rank, interval) of the ranks whose interval lies above `least`."""
    low, _ = order_ranks(len(blocks), 0.5, confidence)
    if low is None:
        return []
    candidates = np.nonzero(np.sort(blocks, axis=0)[low - 1] > least)[0]
    intervals = ((int(rank), _interval(blocks[:, rank], confidence, least)) for rank in candidates)
    return [(rank, interval) for rank, interval in intervals if interval is not None and interval.low > least]


def _interval(values: Array, confidence: float, least: float) -> Interval | None:
    """Interval of the median of dependent blocks: order statistics of the effective number of independent ones."""
    worth = int(len(values) / integrated_time([(values > least).astype(np.float64)]))
    low, high = order_ranks(max(worth, 1), 0.5, confidence)
    if low is None or high is None:
        return None
    ordered, scale = np.sort(values), len(values) / worth
    first, last = math.floor((low - 1) * scale), math.ceil(high * scale) - 1
    return Interval(value=float(np.median(values)), low=float(ordered[first]), high=float(ordered[last]))


def _ranks(own_s: Mapping[str, Array], step_s: Array, family: float) -> int:
    shapes, steps = {array.shape for array in own_s.values()}, len(step_s)
    if len(shapes) > 1 or any(
        len(shape) != 2 or (shape[0] != steps and shape[0] != block_count(steps, max(1, shape[1]), len(own_s), family)) for shape in shapes
    ):
        raise ValueError(f"own times must be [steps, ranks] of {len(step_s)} steps, all alike, not {sorted(shapes)}")
    if not all(np.isfinite(array).all() for array in (*own_s.values(), step_s)):
        raise ValueError("own times and step times must be finite; leave out steps not recorded on every rank")
    return shapes.pop()[1] if shapes else 0


QUADRATURE: Final = 1001  # points of the integral


@lru_cache(maxsize=16_384)
def slowest_of(workers: float, spread: float) -> float:
    """Mean of the largest of `workers` lognormals with mean 1 and standard deviation `spread` of the logarithm.

    `workers` may be any number of at least 1.
    """
    if workers < 1 or spread < 0.0:
        raise ValueError(f"at least one worker and a spread of at least 0, not {workers} and {spread}")
    if spread == 0.0 or workers == 1:
        return 1.0
    from scipy.special import log_ndtr

    z = np.linspace(-10.0, 10.0 + spread, QUADRATURE)
    density = np.exp(-(z**2) / 2.0 + spread * z - spread**2 / 2.0 + (workers - 1.0) * log_ndtr(z))
    return float(workers * np.trapezoid(density, z) / math.sqrt(2.0 * math.pi))


def spread_of(workers: int, slowest: float) -> float:
    """The spread at which the slowest of `workers` averages `slowest` times the mean; 0 if `slowest` is at most 1."""
    if workers < 2 or not slowest > 1.0:
        return 0.0
    low, high = 0.0, 1.0
    while slowest_of(workers, high) < slowest and high < 4.0:
        low, high = high, 2.0 * high
    for _ in range(40):
        middle = (low + high) / 2.0
        low, high = (middle, high) if slowest_of(workers, middle) < slowest else (low, middle)
    return (low + high) / 2.0
