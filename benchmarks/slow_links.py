"""How often is a fleet of equal links accused, is one slow link named, and does a slow node accuse its links?

Fleets of 256 nodes, each in 16 pairs (2,048 pairs, both directions apart), with an ordinary spread between nodes and between links and
noise of several shapes, and small fleets with all pairs. Fixed seeds; Markdown on stdout; exit 1 if a promise is broken.

    python benchmarks/slow_links.py --fleets 200 > benchmarks/results/slow_links.md

Promises (each within 3 Monte Carlo standard errors): an alarm, of a link or a node, in at most 5 % of fleets without a slow one; a link
20 % slow, or a node, named in at least 90 % if that is well findable (15 %; no promise for 4 nodes, where three links decide on each
node), anything else, and a link of the slow node, in at most 5 %.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.slow_nodes import NOISE, Array
from fireassay.spec.fleet import matchings
from fireassay.stats.groups.slow_links import Links, LinkSlowness, slow_links
from fireassay.stats.groups.slow_nodes import MIN_NODES

LEVEL, POWER, SLOWNESS, ROUNDS = 0.05, 0.9, 0.2, 7
WELL = 0.15  # findable slowness from which the power is promised
SHAPES = ((256, 16, True), (256, 16, False), (16, 15, True), (6, 5, True), (6, 5, False), (4, 3, True))  # nodes, pairs of each, directed
SPREADS = ((0.0075, 0.005), (0.02, 0.02))  # between nodes and links, of the noise
HEADS = (
    *("nodes", "pairs of each", "direction", "noise", "spread", "noise of a round"),
    *("any alarm", "link named", "others", "node named", "its links named", "findable: link", "node"),
)
CLASSES = 2  # the half of the nodes is behind another switch


@dataclass(frozen=True)
class Fabric:
    """How fleets are drawn."""

    noise: str
    nodes: int
    each: int
    directed: bool
    between: float
    within: float

    @property
    def links(self) -> Links:
        """The same pairs for every fleet, so that one simulation of equal fleets serves all."""
        pairs = [(int(a), int(b)) for matching in matchings(list(map(str, range(self.nodes))), self.each, 5) for a, b in matching]
        if self.directed:
            pairs += [(second, first) for first, second in pairs]
        several = CLASSES if self.nodes > 8 else 1
        classes = tuple(int(first * several // self.nodes != second * several // self.nodes) for first, second in pairs)
        first, second = zip(*pairs, strict=True)
        return Links(self.nodes, first, second, classes, self.directed)

    def draw(self, rng: np.random.Generator, links: Links) -> Array:
        """Rates of one fleet, [links, rounds]; links between switches have half of the rate and twice the spread."""
        far = np.array(links.classes)
        level = (self.between * rng.standard_normal(links.effects))[links.ends].sum(axis=1) - far * math.log(2.0)
        level += self.between * (1.0 + far) * rng.standard_normal(len(far))
        noise = self.within * NOISE[self.noise](rng, (len(far), ROUNDS))
        return np.exp(level[:, None] + noise + 0.05 * rng.standard_normal(ROUNDS))


@dataclass(frozen=True)
class Shares:
    """Of the fleets: any alarm; the slow link named, any other thing named; the slow node named, any of its links; and what is findable."""

    alarms: float
    link: float
    others: float
    node: float
    its_links: float
    findable: float
    findable_node: float


def measure(fabric: Fabric, repetitions: int, seed: int = 1) -> Shares:
    """The shares over so many fleets without a slow part, with a slow link, and with a slow node."""
    rng, links = np.random.default_rng(seed), fabric.links

    def found(spoil: Callable[[Array], object] = lambda _: None) -> list[LinkSlowness]:
        fleets = [fabric.draw(rng, links) for _ in range(repetitions)]
        for rates in fleets:
            spoil(rates)
        return [slow_links(rates, links, alpha=LEVEL) for rates in fleets]

    def slow_link(rates: Array) -> None:
        rates[0] *= 1.0 - SLOWNESS

    def slow_node(rates: Array) -> None:
        rates[(links.ends == links.ends[0, 0]).any(axis=1)] *= 1.0 - SLOWNESS

    equal, one_link, one_node = found(), found(slow_link), found(slow_node)
    flags = [_flags(result, links) for result in one_link]
    return Shares(
        alarms=float(np.mean([_flags(result, links).any() or _nodes(result).any() for result in equal])),
        link=float(np.mean([flag[0] for flag in flags])),
        others=float(np.mean([flag[1:].any() or _nodes(result).any() for flag, result in zip(flags, one_link, strict=True)])),
        node=float(np.mean([_named(result, links) for result in one_node])),
        its_links=float(np.mean([_flags(result, links).any() for result in one_node])),
        findable=float(np.median([max(part.findable for part in result.links if part) for result in equal])),
        findable_node=float(np.median([max(part.findable for part in result.nodes if part) for result in equal])),
    )


def _flags(result: LinkSlowness, links: Links) -> np.ndarray:
    flags = np.zeros(len(links.first), dtype=bool)
    for members, part in zip(links.members, result.links, strict=True):
        if part is not None:
            flags[members] = part.slow
    return flags


def _nodes(result: LinkSlowness) -> np.ndarray:
    return np.concatenate([part.slow for part in result.nodes if part is not None])


def _named(result: LinkSlowness, links: Links) -> bool:
    part = result.nodes[0]
    return bool(part is not None and part.slow[int(np.flatnonzero(result.judged_nodes[0] == links.first[0])[0])])


def broken(shares: Shares, repetitions: int, nodes: int = 256) -> bool:
    """Whether a promise is broken."""
    false = LEVEL + 3.0 * math.sqrt(LEVEL * (1.0 - LEVEL) / repetitions)
    right = POWER - 3.0 * math.sqrt(POWER * (1.0 - POWER) / repetitions)
    missed = (shares.findable <= WELL and shares.link < right) or (shares.findable_node <= WELL and shares.node < right)
    return (missed and nodes > MIN_NODES) or max(shares.alarms, shares.others, shares.its_links) > false


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fleets", type=int, default=200)
    count = parser.parse_args().fleets
    print("# Are slow links of a fleet found, and only those?\n")
    print(f"{count} fleets per number; one link, or one node, {SLOWNESS:.0%} slow where named. {ROUNDS} rounds. Per cent.\n")
    print(f"| {' | '.join(HEADS)} |\n|{'---|' * len(HEADS)}")
    failed = 0
    for nodes, each, directed in SHAPES:
        for noise in NOISE:
            for between, within in SPREADS:
                shares = measure(Fabric(noise, nodes, each, directed, between, within), count)
                failed += (bad := broken(shares, count, nodes))
                numbers = (shares.alarms, shares.link, shares.others, shares.node, shares.its_links, shares.findable, shares.findable_node)
                how = "yes" if directed else "no"
                row = (
                    str(nodes),
                    str(each),
                    how,
                    noise,
                    f"{100 * between:g}",
                    f"{100 * within:g}",
                    *(f"{100 * one:.1f}" for one in numbers),
                )
                print(f"| {' | '.join(row)} |{' BROKEN' if bad else ''}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
