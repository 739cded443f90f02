"""How often do the intervals of scores over items hold the truth, and those of the difference of two systems?

Scores that are means, ratios of sums as BLEU is, and Matthews' correlation, on 20 to 1,000 items, with and without clusters; beside them plain
percentiles of the same draws.  Markdown on stdout; exit 1 if a coverage is off the promise by more than 2 Monte Carlo standard errors.

    python benchmarks/item_intervals.py --experiments 2000 > benchmarks/results/item_intervals.md     (half an hour on one core)
    python benchmarks/item_intervals.py --quick                                                       (about a minute)

Promise: 95 % intervals cover 93.5 to 96.5 %, and of 20 items at least 93.5 %.  Experiments without an interval (all answers right, say) are
counted apart.
"""

from __future__ import annotations

import argparse
import math
import secrets
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fireassay.stats.intervals import item_bootstrap
from fireassay.stats.intervals.item_bootstrap import Items, of_difference, of_score

Array = NDArray[np.float64]
LOW, HIGH, FEW_HIGH = 93.5, 96.5, 100.0
CONFIDENCE = 0.95
SIZES = (20, 50, 200, 1000)
LARGE = 2_000_000  # items of which the truth is computed


@dataclass(frozen=True)
class Setting:
    """A score of sums of rows, and how the rows of two systems on the same items are drawn, given the number of items."""

    words: str
    draw: Callable[[np.random.Generator, int], tuple[Array, Array]]
    fold: Callable[[Array], Array]
    alike: bool = False  # the systems: exactly, where a score takes few values


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experiments", type=int, default=2000)
    parser.add_argument("--draws", type=int, default=1000, help="of each experiment")
    parser.add_argument("--quick", action="store_true", help="200 experiments of 20 and 200 items")
    parser.add_argument("--seed", type=int, help="repeat a run")
    asked = parser.parse_args()
    seed = asked.seed if asked.seed is not None else secrets.randbits(32)
    experiments, sizes = (200, (20, 200)) if asked.quick else (asked.experiments, SIZES)
    print(f"Seed {seed}; {experiments} experiments a row of {asked.draws} draws each; 95 % intervals.\n")
    print("| score | items | covered % | truth below | truth above | plain percentiles % | difference covered % | without interval |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    broken = [
        line
        for setting in SETTINGS
        for size in sizes
        if has_clusters(setting, size)
        for line in row(setting, size, experiments, asked.draws, seed)
    ]
    print("\n".join(["", "## Broken promises", "", *(f"* {line}" for line in broken or ["none"])]))
    return 1 if broken else 0


def row(setting: Setting, size: int, experiments: int, draws: int, seed: int) -> Iterator[str]:
    """Print one; yield what is broken."""
    truths = [float(setting.fold(rows.sum(axis=0))) for rows in setting.draw(np.random.default_rng(1), LARGE)]
    change_truth = 0.0 if setting.alike else truths[1] - truths[0]
    rng = np.random.default_rng([seed, size, len(setting.words)])
    sides, plain, paired = [], [], []
    for number in range(experiments):
        one, other = setting.draw(rng, size)
        items = Items(weights=np.ones(size), clusters=clusters(size) if "clusters" in setting.words else None)
        kept: list[Array] = []

        def weighted(weights: Array, rows: Array = one, kept: list[Array] = kept) -> Array:
            kept.append(setting.fold(weights @ rows))
            return kept[-1]

        def second(weights: Array, rows: Array = other) -> Array:
            return setting.fold(weights @ rows)

        found = of_score(weighted, items, CONFIDENCE, draws=draws, seed=number)
        if not found.reason:
            sides.append((truths[0] < found.low, truths[0] > found.high))
            scores = np.concatenate(kept[1:])[:draws]
            low, high = np.nanquantile(scores, [0.025, 0.975])
            plain.append(low <= truths[0] <= high)
        change = of_difference(lambda weights: setting.fold(weights @ one), second, items, CONFIDENCE, draws=draws, seed=number)  # noqa: B023
        if not change.reason:
            paired.append(change.low <= change_truth <= change.high)
    below, above = (100.0 * float(np.mean([side[index] for side in sides])) for index in (0, 1))
    covered, of_pairs = 100.0 - below - above, 100.0 * float(np.mean(paired))
    without = f"{experiments - len(sides)}, {experiments - len(paired)}"
    print(
        f"| {setting.words} | {size} | {covered:.1f} | {below:.1f} | {above:.1f} | {100 * np.mean(plain):.1f} | {of_pairs:.1f} | {without} |",
        flush=True,
    )
    error = 2.0 * 100.0 * math.sqrt(0.05 * 0.95 / experiments)
    for what, share in (("", covered), ("difference of ", of_pairs)):
        if not LOW - error <= share <= (FEW_HIGH if size == 20 else HIGH) + error:
            yield f"{what}{setting.words}, {size} items: {share:.1f} %"


def has_clusters(setting: Setting, size: int) -> bool:
    """Enough of them for an interval."""
    return "clusters" not in setting.words or size // 5 >= item_bootstrap.FEWEST


def clusters(size: int) -> list[int]:
    """Fives that share their fate."""
    return [index // 5 for index in range(size)]


# ---- what is drawn -----------------------------------------------------------------------------------------------------


def graded(rng: np.random.Generator, size: int) -> tuple[Array, Array]:
    """Item scores of 0, 1 or between, as token F1 gives; rows of score and count."""
    skill = rng.normal(size=size)
    sides = [skill + rng.normal(scale=0.7, size=size) + shift for shift in (0.2, 0.0)]
    return tuple(np.stack([np.clip(0.5 + 0.5 * side, 0.0, 1.0), np.ones(size)], axis=1) for side in sides)  # type: ignore[return-value]


def graded_in_clusters(rng: np.random.Generator, size: int) -> tuple[Array, Array]:
    """The same, half the spread shared by five neighbours."""
    shared = np.repeat(rng.normal(size=-(-size // 5)), 5)[:size]
    sides = [shared + rng.normal(size=size) + shift for shift in (0.2, 0.0)]
    return tuple(np.stack([np.clip(0.5 + 0.3 * side, 0.0, 1.0), np.ones(size)], axis=1) for side in sides)  # type: ignore[return-value]


def translated(rng: np.random.Generator, size: int) -> tuple[Array, Array]:
    """Counts of two systems' translations: lengths, n-grams in common, n-grams."""
    length = rng.poisson(np.exp(rng.normal(2.7, 0.5, size))) + 4
    hard = rng.beta(3.0, 2.0, size)
    made = []
    for gain in (0.0, 0.03):
        right = np.clip(hard + gain + rng.normal(scale=0.1, size=size), 0.02, 0.98)
        every = [np.maximum(length - order, 0) for order in range(4)]
        common = [rng.binomial(count, right ** (order + 1)) for order, count in enumerate(every)]
        made.append(np.stack([length, np.maximum(1, np.round(length * rng.lognormal(0.05, 0.15, size))), *common, *every], axis=1) * 1.0)
    return made[0], made[1]


def labelled(positive: float, right: float) -> Callable[[np.random.Generator, int], tuple[Array, Array]]:
    """Two classifiers of the same items, half of whose mistakes are shared: tp, fp, fn, tn."""

    def draw(rng: np.random.Generator, size: int) -> tuple[Array, Array]:
        label, hard = rng.random(size) < positive, rng.random(size)
        made = []
        for _ in range(2):
            wrong = np.where(rng.random(size) < 0.5, hard, rng.random(size)) > right
            said = label ^ wrong
            made.append(np.stack([label & said, ~label & said, label & ~said, ~label & ~said], axis=1) * 1.0)
        return made[0], made[1]

    return draw


def mean(sums: Array) -> Array:
    return np.asarray(sums[..., 0] / sums[..., 1])


def ratio(sums: Array) -> Array:
    """BLEU, unsmoothed but for half a match."""
    precision = np.log(np.maximum(sums[..., 2:6], 0.5) / sums[..., 6:10]).mean(axis=-1)
    return np.asarray(100.0 * np.exp(precision + np.minimum(0.0, 1.0 - sums[..., 1] / sums[..., 0])))


def matthews(sums: Array) -> Array:
    tp, fp, fn, tn = np.moveaxis(sums, -1, 0)
    product = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return np.where(product > 0.0, (tp * tn - fp * fn) / np.sqrt(np.where(product > 0.0, product, 1.0)), np.nan)


SETTINGS = (
    Setting("mean of graded scores", graded, mean),
    Setting("BLEU-like ratio of sums", translated, ratio),
    Setting("Matthews, half positive, 80 % right", labelled(0.5, 0.8), matthews, alike=True),
    Setting("Matthews, 30 % positive, 85 % right", labelled(0.3, 0.85), matthews, alike=True),
    Setting("mean in clusters of five", graded_in_clusters, mean),
)

if __name__ == "__main__":
    sys.exit(main())
