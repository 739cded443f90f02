"""Which links of a fleet are slow, and which only seem so because a node at their end is?

The logarithm of a link's rate is the sum of its class, of the node that sends, of the node that receives, and of its own part; of a test
without a direction, of its class and both nodes. Huber's M-estimate fits them: least squares of residuals that are cut at CUT robust
standard deviations, so that a slow link moves neither of its nodes far, and a slow node explains all of its links. Then

    nodes   what the nodes add is judged as their rates are in `slow_nodes`, at half of the level
    links   what the nodes do not explain, divided by the spread of its class: limits and p-values are those of the largest one of
            simulated fleets with the same links, fitted in the same way, at the other half

so that the level is that of any false alarm over all nodes and links of the test. Not all pairs need be measured.
Source: Huber, Robust Statistics, 1981, 7.8 (modified residuals). benchmarks/slow_links.py has the rates of alarms and of links that are found.
Cannot tell: a class of links that is slow as a whole; whether a node or its cable is slow, if more than half of its links are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fireassay.stats.groups.slow_nodes import (
    FLEETS,
    LEAST,
    MIN_NODES,
    SEED,
    VALUES,
    Array,
    Slowness,
    closest_of,
    equal_fleets,
    judged,
    medians,
)

Indexes = NDArray[np.int64]
MIN_LINKS: Final = 6  # of a class: fewer do not give a spread
CUT: Final = 1.5  # robust standard deviations
QUARTILE: Final = 1.1503  # of a normal distribution: three quarters are within
STEPS: Final = 40
STILL: Final = 0.02
CHUNK: Final = 400_000  # values of simulated fleets that are fitted at once


@dataclass(frozen=True)
class Links:
    """Which links there are: of `count` nodes, the ends and the class of each. Frozen bytes, so that simulations are kept."""

    count: int
    first: tuple[int, ...]
    second: tuple[int, ...]
    classes: tuple[int, ...]
    directed: bool

    @cached_property
    def ends(self) -> Indexes:
        """[links, 2]: the effects of each; those of receivers follow those of senders."""
        second = [end + self.count * self.directed for end in self.second]
        return np.array([self.first, second], dtype=np.int64).T

    @cached_property
    def members(self) -> tuple[Indexes, ...]:
        """The links of each class."""
        return tuple(np.flatnonzero(np.array(self.classes) == one) for one in range(max(self.classes) + 1))

    @property
    def effects(self) -> int:
        """How many there are."""
        return self.count * (2 if self.directed else 1)

    @cached_property
    def sides(self) -> tuple[Indexes, ...]:
        """The effects of senders and of receivers, or of nodes; only those with links."""
        present = np.unique(self.ends)
        return tuple(present[present // self.count == side] for side in range(self.effects // self.count))

    @cached_property
    def parts(self) -> Indexes:
        """[links, 3]: the parts whose sum each link is: both effects and its class."""
        return np.concatenate([self.ends, self.effects + np.array([self.classes]).T], axis=1)

    @cached_property
    def sums(self) -> tuple[Indexes, Indexes]:
        """Of every effect and of every class its links, filled up with the number of links."""
        of = [np.flatnonzero((self.ends == effect).any(axis=1)) for effect in range(self.effects)]
        return _filled(of, len(self.ends)), _filled(self.members, len(self.ends))

    @cached_property
    def inverse(self) -> Array:
        """Of the normal equations; levels that cannot be told apart are split evenly."""
        design = np.zeros((len(self.ends), self.effects + len(self.members)))
        for column in self.parts.T:
            design[np.arange(len(design)), column] = 1.0
        return np.asarray(np.linalg.pinv(design.T @ design, hermitian=True), dtype=np.float64)


def _filled(of: Sequence[Indexes], filling: int) -> Indexes:
    most = max(map(len, of))
    return np.array([np.pad(links, (0, most - len(links)), constant_values=filling) for links in of])


@dataclass(frozen=True, kw_only=True)
class LinkSlowness:
    """One test of a fleet's links. A class with fewer than MIN_LINKS links has no result, nor have nodes if they are too few."""

    links: tuple[Slowness | None, ...]  # per class, in the order of its links
    nodes: tuple[Slowness | None, ...]  # as senders and as receivers, or as both; of `judged_nodes`
    judged_nodes: tuple[Indexes, ...]


def slow_links(rates: Array, links: Links, *, alpha: float, least: float = LEAST) -> LinkSlowness:
    """Which links and nodes are slow, from rates of shape [links, rounds] as in `slow_nodes`, at the level `alpha` for all together.

    Raises:
        ValueError: fewer than 4 links, one with too few rounds, or a rate that is not positive.
    """
    level = np.ones(len(rates))
    for members in links.members:  # a round may lack some links, and classes differ by far
        level[members] = np.nanmedian(rates[members])
    values, errors = medians(rates / level[:, None])
    rest, effects = fitted(values[None, :], links)
    equal, units, of_nodes = _equal(links)
    results = tuple(
        judged(rest[0, members], errors[members], (equal, unit), alpha=alpha / 2.0, least=least) if len(members) >= MIN_LINKS else None
        for members, unit in zip(links.members, units, strict=True)
    )
    share = alpha / 2.0 / len(links.sides)
    sides = tuple(
        judged(effects[0, side], np.zeros(len(side)), null, alpha=share, least=least) if null is not None else None
        for side, null in zip(links.sides, of_nodes, strict=True)
    )
    return LinkSlowness(links=results, nodes=sides, judged_nodes=tuple(side % links.count for side in links.sides))


def fitted(values: Array, links: Links) -> tuple[Array, Array]:
    """What is left of each link of every fleet, and each effect; shapes [fleets, links] and [fleets, effects]."""
    rest, effects = values.copy(), np.zeros((len(values), links.effects))
    most = np.full((len(values), 1), np.inf)  # nothing is cut at first: least squares take all of every node away
    for _ in range(STEPS):
        cut = np.concatenate([np.clip(rest, -most, most), np.zeros((len(rest), 1))], axis=1)
        parts = np.concatenate([cut[:, padded].sum(axis=2) for padded in links.sums], axis=1) @ links.inverse
        moved = parts[:, links.parts].sum(axis=2)
        rest -= moved
        effects += parts[:, : links.effects]
        most = CUT / QUARTILE * np.quantile(np.abs(rest), 0.75, axis=1, keepdims=True)
        if np.all(np.abs(moved) <= STILL * most):
            break
    return rest, effects


Null = tuple[Array, float]  # the largest t of equal ones, in order, and the unit of the spread


@lru_cache(maxsize=16)
def _equal(links: Links) -> tuple[Array, tuple[float, ...], tuple[Null | None, ...]]:
    """Of fleets of equal links: the largest t of each over all judged classes, in order; units of the spreads; the nulls of nodes."""
    big = [members for members in links.members if len(members) >= MIN_LINKS]
    rest, effects = zip(*_drawn(links), strict=True)
    found = [_behind(np.concatenate([part[:, members] for part in rest])) for members in big]
    scales = [1.0 / float(spread.mean()) for _, spread in found]
    each = [behind / (spread * scale) for (behind, spread), scale in zip(found, scales, strict=True)]
    t = np.max(each, axis=0) if each else np.zeros(1)
    given = iter(scales)
    units = tuple(next(given) if len(members) >= MIN_LINKS else 1.0 for members in links.members)
    return np.sort(t), units, tuple(_of_nodes(np.concatenate([part[:, side] for part in effects])) for side in links.sides)


def _behind(drawn: Array) -> tuple[Array, Array]:
    """How far the slowest is behind the centre, and the spread."""
    centre, spread = closest_of(drawn)
    return centre - drawn.min(axis=1), np.maximum(spread, np.finfo(float).tiny)


def _of_nodes(effects: Array) -> Null | None:
    """The larger of two nulls: nodes that differ, and equal nodes whose links differ, among whose medians are equal ones if they are few."""
    if effects.shape[1] < MIN_NODES:
        return None
    differ, unit = equal_fleets(effects.shape[1])
    behind, spread = _behind(effects)
    quantiles = (np.arange(len(differ)) + 0.5) / len(differ)
    return np.maximum(differ, np.quantile(behind / (spread * unit), quantiles)), unit


def _drawn(links: Links) -> Iterator[tuple[Array, Array]]:
    generator, number = np.random.default_rng(SEED), len(links.first)
    fleets, at_once = max(1_000, min(FLEETS, VALUES // number) // 2), max(1, CHUNK // number)
    for start in range(0, fleets, at_once):
        yield fitted(generator.standard_normal((min(at_once, fleets - start), number)), links)
