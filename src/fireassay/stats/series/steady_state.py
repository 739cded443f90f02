"""From which step on does a series of durations keep its level?

1  leading outliers (compilation, lazy initialisation): the first points above median + 5 robust standard deviations
   (1.4826 MAD or, if larger, (P90 - P10)/2.563) of the second half;
2  isolated outliers are masked for detection only: runs of fewer than 5 points outside median -+ 3 (P90 - P10)
   of their block of 200 points (after warmup_stats, Barrett et al. 2017, which uses a rolling window; blocks are O(n));
3  change points by optimal partitioning (PELT's optimum, Killick et al. 2012): cost l2, penalty 3 sigma^2 ln n,
   sigma from first differences, segments of at least max(5, 2 %) points, on at most 1000 bin means;
4  backwards from the last segment, segments within max(1 %, 2 SE) of the level so far belong to the steady state;
5  flat, warm-up (it got faster), slow-down (an earlier part was faster) or no steady state (it still changes late);
6  MSER-5 (White 1997; White, Cobb & Spratt 2000) as a cross-check, which may lengthen a warm-up.

Cannot tell: whether a longer launch would reach another level, or whether the noise around it is independent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from fireassay.stats.intervals.intervals import finite_vector

Kind = Literal["flat", "warm-up", "slow-down", "no steady state"]
Array = NDArray[np.float64]

SHORT: Final = 10  # fewer points: only the first step is tested
MAX_BINS: Final = 1000  # the change-point search is quadratic in bins
BLOCK: Final = 200  # points that share one outlier band
MIN_SEGMENT: Final = 5
MIN_MSER_VALUES: Final = 100  # below 20 means of five, MSER-5 cuts at random
MIN_BINS: Final = 8  # for a noise estimate
TOLERANCE: Final = 0.01  # relative; closer levels are equal
MAD_TO_SIGMA: Final = 1.4826  # of a normal distribution
DECILES_TO_SIGMA: Final = 2.5631  # P90 - P10 of a normal distribution


@dataclass(frozen=True, kw_only=True)
class SteadyState:
    """The number of leading points to drop, the shape of the series, and why.

    `warmup` always leaves at least half of the points; for "no steady state" it is a stopgap, not a finding.
    """

    warmup: int
    kind: Kind
    detail: str


def steady_state(series: Array) -> SteadyState:
    """Classify durations in order (shape [n], smaller is faster); ValueError if not finite."""
    data = finite_vector(series, "a series")
    if len(data) < SHORT:
        return _short(data)
    lead = _leading_outliers(data)
    body = _masked(data[lead:])
    width = math.ceil(len(body) / MAX_BINS)
    means = _bin_means(body, width)
    late = _leading_outliers(means) if width > 1 else 0
    start, faster = _walk_back(means[late:])
    return _classified(len(data), lead, (late + start) * width, faster, mser5(body))


def mser5(series: Array) -> int:
    """Points to drop for the best estimate of the mean (MSER-5); half of the series: no steady state.

    On the means z of consecutive fives: the d <= k/2 that minimises sum_{i>=d} (z_i - mean)^2 / (k - d)^2, times five.
    """
    data = finite_vector(series, "a series")
    k = len(data) // 5
    if k < 2:
        return 0
    z = data[: 5 * k].reshape(k, 5).mean(axis=1)
    z = z - z[k // 2 :].mean()  # centre before squaring to keep precision
    tail, tail_squares = z[::-1].cumsum()[::-1], (z * z)[::-1].cumsum()[::-1]
    left = k - np.arange(k // 2 + 1)
    spread = np.maximum(tail_squares[: len(left)] - tail[: len(left)] ** 2 / left, 0.0)
    return 5 * int(np.argmin(spread / left.astype(np.float64) ** 2))


def change_points(series: Array, sigma: float | None = None) -> tuple[int, ...]:
    """0-based first index of every segment but the first: optimal partitioning, l2, penalty 3 sigma^2 ln n.  O(n^2).

    `sigma` is the noise within a segment; default: from first differences, assuming independence.
    """
    data = finite_vector(series, "a series")
    n = len(data)
    least = max(MIN_SEGMENT, math.ceil(0.02 * n))
    if n < 2 * least:
        return ()
    penalty = 3.0 * max(_noise(data) if sigma is None else sigma, 1e-9 * float(np.abs(data).max())) ** 2 * math.log(n)
    return _partition(data - data.mean(), least, penalty)


def _partition(y: Array, least: int, penalty: float) -> tuple[int, ...]:
    """F(t) = min over s <= t - least of F(s) + C(s, t) + penalty, F(0) = -penalty; then backtrack."""
    n = len(y)
    sums, squares = np.append(0.0, y.cumsum()), np.append(0.0, (y * y).cumsum())
    best, back = np.full(n + 1, math.inf), np.zeros(n + 1, dtype=np.int64)
    best[0] = -penalty
    lengths = np.arange(n, 0, -1, dtype=np.float64)
    for t in range(least, n + 1):
        k = t - least + 1  # s = 0 ... t - least
        total = best[:k] + (squares[t] - squares[:k] - (sums[t] - sums[:k]) ** 2 / lengths[n - t : n - t + k])
        back[t] = int(total.argmin())
        best[t] = total[back[t]] + penalty
    starts, t = [], int(back[n])
    while t > 0:
        starts.append(t)
        t = int(back[t])
    return tuple(reversed(starts))


def _noise(data: Array) -> float:
    """Standard deviation of the noise from first differences, robust to steps and slow trends."""
    steps = np.diff(data)
    return MAD_TO_SIGMA * float(np.median(np.abs(steps - np.median(steps)))) / math.sqrt(2.0)


def _cautious_noise(data: Array) -> float:
    """The largest of the plain deviation of first differences and the robust ones of means of 5 and 10, rescaled.

    The first is larger for skewed noise (one step hardly raises it), the others for autocorrelated noise.
    """
    widths = [w for w in (5, 10) if len(data) >= MIN_BINS * w]
    plain = float(np.std(np.diff(data))) / math.sqrt(2.0)
    return max([plain, *(math.sqrt(w) * _noise(_bin_means(data, w)) for w in widths)])


def _walk_back(means: Array) -> tuple[int, bool]:
    """Index from which the level holds, and whether an earlier segment was faster."""
    edges = [0, *change_points(means, _cautious_noise(means)), len(means)]
    first = len(edges) - 2
    while first > 0 and _same_level(means[edges[first - 1] : edges[first]], means[edges[first] :]):
        first -= 1
    level, before = means[edges[first] :], edges[: first + 1]
    faster = any(float(means[a:b].mean()) < float(level.mean()) and not _same_level(means[a:b], level) for a, b in pairwise(before))
    return edges[first], faster


def _same_level(earlier: Array, later: Array) -> bool:
    """Do two stretches differ by less than 1 % of the later level, or by less than two standard errors?"""
    error = math.hypot(_standard_error(earlier), _standard_error(later))
    return abs(float(earlier.mean() - later.mean())) <= max(TOLERANCE * abs(float(later.mean())), 2.0 * error)


def _standard_error(x: Array) -> float:
    """Standard error of the mean, widened by sqrt((1 + r)/(1 - r)) for positive lag-1 autocorrelation r."""
    centred = x - x.mean()
    total = float(centred @ centred)
    if len(x) < 2 or total == 0.0:
        return 0.0
    r = min(max(float(centred[1:] @ centred[:-1]) / total, 0.0), 0.95)
    return math.sqrt(total / (len(x) - 1) / len(x) * (1.0 + r) / (1.0 - r))


def _leading_outliers(data: Array) -> int:
    """Length of the opening run of slow outliers, relative to the second half; at most 10 or 4 %."""
    rest = data[len(data) // 2 :]
    longest = min(max(2 * MIN_SEGMENT, math.ceil(0.04 * len(data))), len(data) // 2)
    slow = data[:longest] > _outlier_bound(rest)
    return longest if bool(slow.all()) else int(np.argmin(slow))


def _outlier_bound(rest: Array) -> float:
    """Outlier limit for the first steps: 5 robust standard deviations, and 1 %, above the median of the rest.

    In a series that alternates between two values the MAD is zero or the full distance; P90 - P10 covers both.
    """
    low, median, high = (float(x) for x in np.percentile(rest, (10, 50, 90)))
    mad = float(np.median(np.abs(rest - median)))
    spread = max(MAD_TO_SIGMA * mad, (high - low) / DECILES_TO_SIGMA)
    return median + max(5.0 * spread, TOLERANCE * abs(median))


def _masked(data: Array) -> Array:
    """The series with isolated outliers replaced by their block's median; runs of 5 or more are levels."""
    blocks = np.arange(len(data)) // BLOCK
    blocks[blocks == len(data) // BLOCK] = max(len(data) // BLOCK - 1, 0)  # the remainder joins the last full block
    edges = np.flatnonzero(np.diff(blocks, prepend=-1))
    bands = np.array([np.percentile(x, (10, 50, 90)) for x in np.split(data, edges[1:])])
    low, median, high = bands[blocks].T
    outside = np.abs(data - median) > 3.0 * (high - low)
    return np.where(_isolated(outside), median, data)


def _isolated(flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The flags without their runs of MIN_SEGMENT or more."""
    run = np.diff(flags, prepend=~flags[:1]).astype(np.int64).cumsum() - 1
    short: NDArray[np.bool_] = np.bincount(run)[run] < MIN_SEGMENT
    return np.asarray(flags & short, dtype=np.bool_)


def _bin_means(data: Array, width: int) -> Array:
    """Means of consecutive `width` points; drops an incomplete last bin."""
    whole = len(data) // width
    return np.asarray(data[: whole * width].reshape(whole, width).mean(axis=1), dtype=np.float64)


def _classified(n: int, lead: int, start: int, faster: bool, mser: int) -> SteadyState:
    """Combine the parts; `start` and `mser` count from the end of the `lead` leading outliers."""
    most, cut = n - max(MIN_SEGMENT, math.ceil(n / 2)), lead + start
    if cut > most:
        return SteadyState(warmup=most, kind="no steady state", detail=f"the level still changes at point {cut} of {n}")
    disagree = n >= MIN_MSER_VALUES and abs(mser - start) > 0.1 * n
    remark = f"; MSER-5 would cut {lead + mser}" if disagree else ""
    if cut == 0:
        return SteadyState(warmup=0, kind="flat", detail=f"one level over {n} points{remark}")
    if faster:
        return SteadyState(warmup=cut, kind="slow-down", detail=f"slower from point {cut} of {n} on{remark}")
    if start and not disagree:
        cut = min(max(cut, lead + mser), most)
    return SteadyState(warmup=cut, kind="warm-up", detail=f"steady from point {cut} of {n} on{remark}")


def _short(data: Array) -> SteadyState:
    """Too few points for a level: drop only the first if it is an outlier against the rest."""
    n, rest = len(data), data[1:]
    if n >= 4 and float(data[0]) > _outlier_bound(rest):
        return SteadyState(warmup=1, kind="flat", detail=f"the first of only {n} points is an outlier")
    return SteadyState(warmup=0, kind="flat", detail=f"only {n} points, too few to see a change of level")
