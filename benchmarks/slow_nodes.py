"""How often is a fleet of equal nodes accused, and how often are three slow nodes all named?

Fleets of 256 nodes with an ordinary spread between nodes, noise of several shapes, and rounds that all nodes share. Fixed seeds; Markdown
on stdout; exit 1 if a promise is broken.

    python benchmarks/slow_nodes.py --fleets 200 > benchmarks/results/slow_nodes.md

Promises, at 7 rounds and more, where all nodes are equally noisy or the spread between them is at least half of the noise: an alarm in at most
5 % of fleets without a slow node, others named in at most 5 % of fleets with three nodes 5 % slow, and all three named in at least 90 % if
that slowness is findable and noise is equal or no more than the spread (each within 3 Monte Carlo standard errors).
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fireassay.stats.groups.slow_nodes import slow_nodes

Array = NDArray[np.float64]
Shape = tuple[int, int]
NODES, SLOW, SLOWNESS, LEVEL, POWER = 256, 3, 0.05, 0.05, 0.9
NOISE: Mapping[str, Callable[[np.random.Generator, Shape], Array]] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "Student t, 3 degrees": lambda rng, shape: rng.standard_t(3, shape) / math.sqrt(3.0),
    "bursts in 5 % of rounds": lambda rng, shape: rng.standard_normal(shape) - (rng.random(shape) < 0.05) * rng.exponential(10.0, shape),
}
SPREADS = ((0.0, 0.01), (0.005, 0.01), (0.0075, 0.005), (0.01, 0.005))  # between nodes, of the noise
ROUNDS = (5, 7, 10)
UNEQUAL = (0.0, 0.5)  # spread of the logarithm of the nodes' noise


@dataclass(frozen=True)
class Fleets:
    """How fleets are drawn."""

    noise: str
    between: float
    within: float
    rounds: int
    unequal: float
    nodes: int = NODES

    def draw(self, rng: np.random.Generator, slow: int = 0) -> Array:
        """Rates of one fleet, [nodes, rounds]; the first `slow` nodes are SLOWNESS slower."""
        nodes = self.between * rng.standard_normal(self.nodes)
        nodes[:slow] += math.log1p(-SLOWNESS)
        scale = self.within * np.exp(self.unequal * rng.standard_normal((self.nodes, 1)))
        noise = scale * NOISE[self.noise](rng, (self.nodes, self.rounds))
        rates: Array = np.exp(nodes[:, None] + noise + 0.05 * rng.standard_normal(self.rounds))
        return rates


@dataclass(frozen=True)
class Shares:
    """Of the fleets: an alarm without a slow node, all slow ones named, others named; and the median findable slowness."""

    alarms: float
    named: float
    others: float
    findable: float


def measure(fleets: Fleets, repetitions: int, seed: int = 1) -> Shares:
    """The shares over so many fleets with and without slow nodes."""
    rng = np.random.default_rng(seed)
    equal = [slow_nodes(fleets.draw(rng), alpha=LEVEL) for _ in range(repetitions)]
    bad = [slow_nodes(fleets.draw(rng, SLOW), alpha=LEVEL) for _ in range(repetitions)]
    return Shares(
        alarms=float(np.mean([found.slow.any() for found in equal])),
        named=float(np.mean([found.slow[:SLOW].all() for found in bad])),
        others=float(np.mean([found.slow[SLOW:].any() for found in bad])),
        findable=float(np.median([found.findable for found in bad])),
    )


def broken(fleets: Fleets, shares: Shares, repetitions: int) -> bool:
    """Whether a promise that covers these fleets is broken."""
    if fleets.rounds < 7 or (fleets.unequal > 0.0 and fleets.between < fleets.within / 2.0):
        return False
    error = 3.0 * math.sqrt(LEVEL * (1.0 - LEVEL) / repetitions)
    covered = fleets.unequal == 0.0 or fleets.between >= fleets.within  # a noisy node hides its own slowness
    missed = covered and shares.findable <= SLOWNESS and shares.named < POWER - 3.0 * math.sqrt(POWER * (1.0 - POWER) / repetitions)
    return missed or max(shares.alarms, shares.others) > LEVEL + error


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fleets", type=int, default=200)
    count = parser.parse_args().fleets
    print("# Are slow nodes of a fleet found, and only those?\n")
    print(f"{count} fleets of {NODES} nodes per row; {SLOW} of them {SLOWNESS:.0%} slow where named. Per cent.\n")
    print("| noise | between nodes | noise of a round | unequal noise | rounds | any alarm | all named | others named | findable |")
    print("|---|---|---|---|---|---|---|---|---|")
    failed = 0
    for noise in NOISE:
        for between, within in SPREADS:
            for unequal in UNEQUAL:
                for rounds in ROUNDS:
                    fleets = Fleets(noise, between, within, rounds, unequal)
                    shares = measure(fleets, count)
                    failed += (bad := broken(fleets, shares, count))
                    cells = (100.0 * share for share in (shares.alarms, shares.named, shares.others, shares.findable))
                    row = (
                        noise,
                        f"{100 * between:g}",
                        f"{100 * within:g}",
                        f"{unequal:g}",
                        str(rounds),
                        *(f"{cell:.1f}" for cell in cells),
                    )
                    print(f"| {' | '.join(row)} |{' BROKEN' if bad else ''}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
