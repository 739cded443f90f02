"""Which links of a fleet are slow, and which only seem so because a node at their end is?

The logarithm of a link's rate is the sum of its class, of the node that sends, of the node that receives, and of its own part; of a test
without a direction, of its class and both nodes. Medians fit them in turn (median polish, Tukey 1977): a slow link moves neither of its
nodes, since fewer than half of a node's links are slow, and a slow node explains all of its links. Then

    nodes   what the nodes add is judged as their rates are in `slow_nodes`, at half of the level
    links   what the nodes do not explain, divided by the spread of its class: limits and p-values are those of the largest one of
            simulated fleets with the same links, fitted in the same way, at the other half

so that the level is that of any false alarm over all nodes and links of the test. Not all pairs need be measured.
Source: Tukey, Exploratory Data Analysis, 1977, chapter 11. benchmarks/slow_links.py has the rates of alarms and of links that are found.
Cannot tell: a class of links that is slow as a whole; whether a node or its cable is slow, if more than half of its links are.
"""

from __future__ import annotations

from collections.abc import Iterator
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
SWEEPS: Final = 8
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

    @cached_property
    def groups(self) -> tuple[tuple[Indexes, Indexes, Indexes], ...]:
        """Effects that are fitted at once: effects, [effects, most links] (absent: the number of links), numbers of links."""
        parts = [np.arange(self.count)] if not self.directed else [np.arange(self.count), np.arange(self.count, 2 * self.count)]
        return tuple(_incident(self.ends, part[np.isin(part, self.ends)]) for part in parts)

    @property
    def effects(self) -> int:
        """How many there are."""
        return self.count * (2 if self.directed else 1)


def _incident(ends: Indexes, effects: Indexes) -> tuple[Indexes, Indexes, Indexes]:
    of = [np.flatnonzero((ends == effect).any(axis=1)) for effect in effects.tolist()]
    most = max(map(len, of))
    padded = np.array([np.pad(links, (0, most - len(links)), constant_values=len(ends)) for links in of])
    return effects, padded, np.array([len(links) for links in of])


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
    share, sides = alpha / 2.0 / len(links.groups), []
    for (fit, _, _), null in zip(links.groups, of_nodes, strict=True):
        sides.append(judged(effects[0, fit], np.zeros(len(fit)), null, alpha=share, least=least) if null is not None else None)
    return LinkSlowness(links=results, nodes=tuple(sides), judged_nodes=tuple(fit % links.count for fit, _, _ in links.groups))


def fitted(values: Array, links: Links) -> tuple[Array, Array]:
    """What is left of each link of every fleet, and each effect; shapes [fleets, links] and [fleets, effects]."""
    rest, effects = values.copy(), np.zeros((len(values), links.effects))
    damped = 1.0 if links.directed else 0.5  # both ends move at once
    for _ in range(SWEEPS):
        _level(rest, links)
        for which, padded, counts in links.groups:
            step = damped * _medians(rest, padded, counts)
            step -= np.median(step, axis=1, keepdims=True)
            moved = np.zeros_like(effects)
            moved[:, which] = step
            effects += moved
            rest -= moved[:, links.ends].sum(axis=2)
    _level(rest, links)
    return rest, effects


def _level(rest: Array, links: Links) -> None:
    for members in links.members:
        rest[:, members] -= np.median(rest[:, members], axis=1, keepdims=True)


def _medians(rest: Array, padded: Indexes, counts: Indexes) -> Array:
    """Median over the links of each effect."""
    wide = np.concatenate([rest, np.full((len(rest), 1), np.inf)], axis=1)[:, padded]
    wide.sort(axis=2)
    rows = np.arange(len(counts))
    result: Array = (wide[:, rows, (counts - 1) // 2] + wide[:, rows, counts // 2]) / 2.0
    return result


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
    return np.sort(t), units, tuple(_of_nodes(np.concatenate([part[:, fit] for part in effects])) for fit, _, _ in links.groups)


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
    fleets, at_once = max(1_000, min(FLEETS, VALUES // number)), max(1, CHUNK // number)
    for start in range(0, fleets, at_once):
        yield fitted(generator.standard_normal((min(at_once, fleets - start), number)), links)
