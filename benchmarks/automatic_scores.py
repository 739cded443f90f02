"""Do intervals of how well an automatic score orders what people rated hold the truth?

Sides are rated on the same items; people's mean is a truth with the raters' noise, rounded where few raters give whole numbers; the automatic score
is another noisy look at that truth.  Tie-aware pairwise accuracy with calibrated ties, Kendall's tau-b, Spearman's and Pearson's correlation, by the
jackknife over items (`fireassay.stats.people.automatic_score`).  The truth is the same number over very many items.
Markdown on stdout; exit 1 if a coverage is off the promise by more than 2 Monte Carlo standard errors.

    python benchmarks/automatic_scores.py > benchmarks/results/automatic_scores.md     (some 15 minutes on one core)
    python benchmarks/automatic_scores.py --quick                                      (some 30 seconds)

Promise: 95 % intervals of correlations cover 93 to 97 % from 100 items; the accuracy, whose ties are calibrated on the same pairs and which is
slightly optimistic, at least 90 %.  The bias of the accuracy is listed.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from fireassay.stats.people.automatic_score import Correlation, Rated, correlation, over_items, tie_accuracy

LEVEL = 0.95
LARGE = 20_000  # items of which the truth is computed
STRICT, LOOSE = (93.0, 97.0), (90.0, 100.0)
WHICH: tuple[Correlation, ...] = ("kendall_b", "spearman", "pearson")


@dataclass(frozen=True)
class Setting:
    """How many sides and raters there are, how noisy the score is, and whether ratings are whole numbers."""

    words: str
    sides: int
    raters: int
    noise: float
    whole: bool = False


SETTINGS = (
    Setting("3 sides, 5 raters, a good score", 3, 5, 0.5),
    Setting("3 sides, 5 raters, a poor score", 3, 5, 3.0),
    Setting("6 sides, 3 raters, whole numbers", 6, 3, 1.0, whole=True),
    Setting("2 sides, 1 rater, whole numbers", 2, 1, 1.0, whole=True),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experiments", type=int, default=400)
    parser.add_argument("--quick", action="store_true", help="40 experiments of 100 items")
    parser.add_argument("--seed", type=int, default=20261201)
    asked = parser.parse_args()
    experiments, sizes = (40, (100,)) if asked.quick else (asked.experiments, (30, 100, 200))
    print(f"Seed {asked.seed}; {experiments} experiments a row.\n")
    print("| ratings | items | accuracy covered, % | its bias | Kendall, Spearman, Pearson covered, % |\n|---|---|---|---|---|", flush=True)
    broken = [words for setting in SETTINGS for size in sizes for words in row(setting, size, experiments, asked.seed)]
    print("\nEvery promise is kept." if not broken else f"\nBROKEN: {'; '.join(broken)}")
    return 1 if broken else 0


def drawn(rng: np.random.Generator, setting: Setting, items: int) -> Rated:
    """Items differ, sides differ little, and so do both together."""
    shape = items, setting.sides
    true = rng.normal(0.0, 0.8, (items, 1)) + 0.3 * np.arange(setting.sides) + rng.normal(0.0, 0.7, shape)
    ratings = true[..., None] + rng.normal(0.0, 0.8, (*shape, setting.raters))
    people = np.clip(np.round(3.0 + ratings), 1.0, 5.0) if setting.whole else ratings
    score = true + rng.normal(0.0, setting.noise, shape)
    item, side = (labels.ravel() for labels in np.indices(shape))
    return Rated(people=people.mean(axis=-1).ravel(), score=score.ravel(), items=item, sides=side)


def accuracy(rated: Rated) -> float:
    return tie_accuracy(rated)[0]


def correlated(rated: Rated, which: Correlation) -> float:
    return correlation(rated.people, rated.score, which)


VALUES: tuple[Callable[[Rated], float], ...] = (accuracy, *(partial(correlated, which=which) for which in WHICH))


def row(setting: Setting, size: int, experiments: int, seed: int) -> Iterator[str]:
    """Print a row; the promises that it breaks."""
    rng = np.random.default_rng([seed, size, len(setting.words)])
    large = drawn(rng, setting, LARGE)
    true = [value(large) for value in VALUES]
    covered, seen = np.zeros(len(VALUES)), 0.0
    for _ in range(experiments):
        rated = drawn(rng, setting, size)
        for place, value in enumerate(VALUES):
            interval = over_items(rated, value, LEVEL)
            covered[place] += interval.low <= true[place] <= interval.high
            seen += interval.value if place == 0 else 0.0
    shares = 100.0 * covered / experiments
    others = ", ".join(f"{share:.1f}" for share in shares[1:])
    print(f"| {setting.words} | {size} | {shares[0]:.1f} | {seen / experiments - true[0]:+.4f} | {others} |", flush=True)
    slack = 200.0 * math.sqrt(0.05 * 0.95 / experiments)
    for place, share in enumerate(shares):
        low, high = LOOSE if place == 0 else STRICT
        if (place == 0 or size >= 100) and not low - slack <= share <= high + slack:
            yield f"{setting.words}, {size} items, {('accuracy', *WHICH)[place]}: {share:.1f} %"


if __name__ == "__main__":
    sys.exit(main())
