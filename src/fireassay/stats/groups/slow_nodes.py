"""Which nodes of a fleet are slow, given repeated measurements of each, with a controlled rate of false alarms over the whole fleet?

Logarithms of rates. Of each round the median over nodes is subtracted (load, heat and drift that all nodes share); a node's value is the
median of its rounds. Equal nodes are not identical: the null hypothesis is that values are normal around one centre with one unknown
spread, which holds ordinary differences between nodes as well as noise. Centre c and spread s are those of the closest three quarters
of the values (shortest subset, Rousseeuw 1985), so up to a quarter of the fleet may be slow and moves neither. With

    t = (c - value) / sqrt(s^2 + max(0, e^2 - median e^2))        e: standard error of the node's own median

p is the probability that the largest t of a fleet of equal nodes is as large: Monte Carlo over normal fleets of the same size, whose t
depends on nothing else: the familywise error is the level. Several tests share it by Bonferroni. A node much noisier than the others is
judged by its own error, from distances without the farthest. A node is slow if p is at most the level and it is at least `least` slower.

`findable`: the slowness at which three slow nodes at once are all named in 90 % of large fleets, (limit + z(0.9^(1/3))) s; in 80 % of
fleets of 64, where the slow ones widen s.
Sources: Rousseeuw & Leroy, Robust Regression and Outlier Detection, 1987, 4.4; Westfall & Young, Resampling-Based Multiple Testing,
1993 (maximum statistics). benchmarks/slow_nodes.py: 256 nodes, 7 rounds, spread between nodes of 0.75 %, noise of 0.5 %, normal, heavy-tailed
or with bursts: an alarm in 3 to 6.5 % of fleets without a slow node (200 a row), three nodes 5 % slow all named in 95 % or more. Too many
alarms (18 % at 7 rounds, 12 % at 10) where noise is all there is and differs from node to node by a factor of 1.6.
Cannot tell: a fleet that is slow as a whole, groups of more than a quarter, or two kinds of nodes, which are two fleets.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MIN_NODES: Final = 4  # three that agree, and one that does not
MIN_ROUNDS: Final = 3
LEAST: Final = 0.01
KEPT: Final = 0.75  # share of the nodes that give centre and spread
FLEETS: Final = 20_000  # of equal nodes, simulated
VALUES: Final = 8_000_000  # simulated at most; larger fleets are fewer, and their limits vary less
SEED: Final = 20_251_130
FOUND: Final = 0.9 ** (1 / 3)


@dataclass(frozen=True, kw_only=True)
class Slowness:
    """One test of a fleet. Arrays have one entry per node; shares are of the centre's rate, 0.05 is 5 % slower."""

    slower: Array  # share; negative: faster
    p_values: Array  # over the whole fleet
    slow: NDArray[np.bool_]
    band: Array  # a node up to this share slower is ordinary
    spread: float  # of ordinary nodes, as a share
    findable: float  # smallest share that is found in most cases


def slow_nodes(rates: Array, *, alpha: float, least: float = LEAST) -> Slowness:
    """Which nodes are slow, from rates of shape [nodes, rounds] (higher is better, NaN: not measured) at the level `alpha`.

    Raises:
        ValueError: fewer than MIN_NODES nodes, a node with fewer than MIN_ROUNDS rounds, or a rate that is not positive.
    """
    values, errors = medians(rates)
    return judged(values, errors, equal_fleets(len(values)), alpha=alpha, least=least)


def judged(values: Array, errors: Array, equal: tuple[Array, float], *, alpha: float, least: float = LEAST) -> Slowness:
    """Which of these values, logarithms with their standard errors, are slow; `equal`: of equal ones, the largest t, and a spread's unit."""
    null, unit = equal
    limit = float(np.quantile(null, 1.0 - alpha, method="higher"))
    centre, closest = closest_of(values[None, :])
    spread = closest * unit
    own = np.sqrt(spread**2 + np.maximum(0.0, errors**2 - np.median(errors**2)))
    behind = centre - values
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(behind == 0.0, 0.0, behind / own)
    p_values = np.asarray((1.0 + len(null) - np.searchsorted(null, t, side="left")) / (1.0 + len(null)), dtype=np.float64)
    slower = -np.expm1(-behind)
    return Slowness(
        slower=slower,
        p_values=p_values,
        slow=(p_values <= alpha) & (slower >= least),
        band=np.maximum(-np.expm1(-limit * own), least),
        spread=float(spread[0]),
        findable=max(least, -math.expm1(-(limit + NormalDist().inv_cdf(FOUND)) * float(spread[0]))),
    )


def medians(rates: Array) -> tuple[Array, Array]:
    """Each row's median logarithm, relative to its rounds' medians, and its standard error."""
    if rates.ndim != 2 or rates.shape[0] < MIN_NODES:
        raise ValueError(f"a fleet has at least {MIN_NODES} nodes, one per row, not the shape {rates.shape}")
    rounds = np.isfinite(rates).sum(axis=1)
    if rounds.min() < MIN_ROUNDS or not np.all(rates[np.isfinite(rates)] > 0.0):
        raise ValueError(f"every node needs at least {MIN_ROUNDS} positive rates")
    logs = np.log(rates[:, np.isfinite(rates).any(axis=0)])
    logs = logs - np.nanmedian(logs, axis=0)
    values: Array = np.nanmedian(logs, axis=1)
    return values, _off(logs, values) * np.array([_error_of(number) for number in rounds.tolist()])


def _off(logs: Array, values: Array) -> Array:
    """Mean distance of each node's rounds from its value, without the farthest: one burst makes no node noisy."""
    distances = np.abs(logs - values[:, None])
    result: Array = (np.nansum(distances, axis=1) - np.nanmax(distances, axis=1)) / (np.isfinite(distances).sum(axis=1) - 1.0)
    return result


@lru_cache(maxsize=64)
def _error_of(rounds: int) -> float:
    """Standard error of a median of so many normal rounds over their mean distance."""
    drawn = np.random.default_rng(SEED).standard_normal((4_000, rounds))
    medians = np.median(drawn, axis=1)
    return float(medians.std() / _off(drawn, medians).mean())


def closest_of(values: Array) -> tuple[Array, Array]:
    """Mean and standard deviation of the closest KEPT of the values of every row; of a normal sample, less than its own."""
    count = values.shape[1]
    kept = math.ceil(KEPT * count)
    ordered = np.sort(values, axis=1)
    ordered -= ordered[:, [count // 2]]
    zeros = np.zeros((len(values), 1))
    sums, squares = (np.concatenate([zeros, np.cumsum(power, axis=1)], axis=1) for power in (ordered, ordered**2))
    means = (sums[:, kept:] - sums[:, :-kept]) / kept
    variances = (squares[:, kept:] - squares[:, :-kept]) / kept - means**2
    best = variances.argmin(axis=1)
    rows = np.arange(len(values))
    middle = np.partition(values, count // 2, axis=1)[:, count // 2]
    return means[rows, best] + middle, np.sqrt(np.maximum(variances[rows, best], 0.0))


@lru_cache(maxsize=16)
def equal_fleets(count: int) -> tuple[Array, float]:
    """Of normal fleets of `count` equal nodes: the largest t of each, in order; and their standard deviation over that of the closest nodes."""
    generator = np.random.default_rng(SEED)
    fleets = max(1_000, min(FLEETS, VALUES // count))
    largest, spreads = [], []
    for start in range(0, fleets, 1_000):
        drawn = generator.standard_normal((min(1_000, fleets - start), count))
        centre, spread = closest_of(drawn)
        largest.append((centre - drawn.min(axis=1)) / spread)
        spreads.append(spread)
    unit = 1.0 / float(np.concatenate(spreads).mean())
    return np.sort(np.concatenate(largest)) / unit, unit
