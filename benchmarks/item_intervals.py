"""How often do the intervals of scores over items hold the truth?

Means of scores (`fireassay.stats.intervals.item_means`: right or wrong, graded, in clusters, weighted), scores that are no mean
(`item_bootstrap`: a ratio of sums as BLEU is, Matthews' correlation) and calibration errors (`fireassay.stats.calibration`), on 20 to 1,000 items.
Markdown on stdout; exit 1 if a coverage is off the promise by more than 2 Monte Carlo standard errors.

    python benchmarks/item_intervals.py > benchmarks/results/item_intervals.md     (20 minutes on one core)
    python benchmarks/item_intervals.py --quick                                    (about a minute)

Promise: 95 % intervals cover 93.5 to 96.5 %, and of 20 items, or of a score that takes few values there, at least 93.5 %.  Those of calibration
errors cover at least 92 %.  Experiments without an interval (all answers are of one class, say) are counted apart.
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

from fireassay.stats import calibration
from fireassay.stats.calibration import Items, calibration_error
from fireassay.stats.intervals import item_means

Array = NDArray[np.float64]
LOW, HIGH = 93.5, 96.5
LOOSE = (92.0, 100.0)  # of calibration errors: how bins are off is not known, and an error of 0 has one bound only
CONFIDENCE = 0.95
SIZES = (20, 50, 200, 1000)
CLUSTER = 5
LARGE = 2_000_000  # items of which the truth is computed


@dataclass(frozen=True)
class Setting:
    """A score, and how the rows of so many items are drawn."""

    words: str
    draw: Callable[[np.random.Generator, int], Array]
    fold: Callable[[Array], Array] | None = None  # of sums of rows; None: the mean of the first column
    clustered: bool = False
    weighted: bool = False
    coarse: bool = False  # takes so few values that an interval must be wide
    calibration: bool = False  # rows are confidence and outcome


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experiments", type=int, default=2000)
    parser.add_argument("--draws", type=int, default=500, help="of each bootstrap")
    parser.add_argument("--quick", action="store_true", help="400 experiments of 20 and 200 items")
    parser.add_argument("--seed", type=int, help="repeat a run")
    asked = parser.parse_args()
    seed = asked.seed if asked.seed is not None else secrets.randbits(32)
    experiments, sizes = (400, (20, 200)) if asked.quick else (asked.experiments, SIZES)
    print(f"Seed {seed}; {experiments} experiments a row, bootstraps of {asked.draws} draws; 95 % intervals.\n")
    print("| score | items | covered % | truth below | truth above | without interval |\n|---|---|---|---|---|---|", flush=True)
    rows: list[tuple[str, bool]] = [
        one
        for setting in SETTINGS
        for size in sizes
        if not setting.clustered or size // CLUSTER >= calibration.MIN_CLUSTERS
        for one in row(setting, size, experiments, asked.draws, seed)
    ]
    broken = [words for words, promised in rows if not promised]
    print("\n".join(["", f"## Outside of {LOW} to {HIGH} %", "", *(f"* {words}" for words, _ in rows or [("none", True)])]))
    print("\n".join(["", "## Broken promises", "", *(f"* {line}" for line in broken or ["none"])]))
    return 1 if broken else 0


def row(setting: Setting, size: int, experiments: int, draws: int, seed: int) -> Iterator[tuple[str, bool]]:
    """Print one; yield it in words if it is off by more than 1.5 points, and whether that is within the promise."""
    truth = true_value(setting)
    rng, outside = np.random.default_rng([seed, size, len(setting.words)]), []
    for number in range(experiments):
        bounds = interval(setting, rng, size, draws, number)
        if not math.isnan(bounds[0]):
            outside.append((truth < bounds[0], truth > bounds[1]))
    below, above = (100.0 * float(np.mean([side[index] for side in outside])) for index in (0, 1))
    covered = 100.0 - below - above
    print(f"| {setting.words} | {size} | {covered:.1f} | {below:.1f} | {above:.1f} | {experiments - len(outside)} |", flush=True)
    error = 2.0 * 100.0 * math.sqrt(0.05 * 0.95 / experiments)
    low, high = LOOSE if setting.calibration else (LOW, 100.0 if size == SIZES[0] or setting.coarse else HIGH)
    if not LOW <= covered <= HIGH:
        yield f"{setting.words}, {size} items: {covered:.1f} %", low - error <= covered <= high + error


def true_value(setting: Setting) -> float:
    """Of very many items."""
    many = setting.draw(np.random.default_rng(1), LARGE)
    if setting.calibration:
        return calibration_error(many[:, 0], many[:, 1], CONFIDENCE).plain  # its bias is below 0.001 there
    return float(many[:, 0].mean() if setting.fold is None else setting.fold(many.sum(axis=0)))


def interval(setting: Setting, rng: np.random.Generator, size: int, draws: int, number: int) -> tuple[float, float]:
    """As the product computes it."""
    rows = setting.draw(rng, size)
    weights = rng.choice([1.0, 2.0, 4.0], size) if setting.weighted else np.ones(size)
    labels = [index // CLUSTER for index in range(size)] if setting.clustered else None
    fold = setting.fold
    if setting.calibration:
        error = calibration_error(rows[:, 0], rows[:, 1], CONFIDENCE).error
        return error.low, error.high
    if fold is None:
        of_mean = item_means.of_items(rows[:, 0], weights, labels, (0.0, 1.0), CONFIDENCE)
        return of_mean.low, of_mean.high
    items = Items(weights=weights, clusters=labels)
    found = calibration.of_score(lambda drawn: fold(drawn @ rows), items, CONFIDENCE, draws=draws, seed=number)
    return found.low, found.high


# ---- what is drawn -----------------------------------------------------------------------------------------------------


def right(share: float) -> Callable[[np.random.Generator, int], Array]:
    """Right or wrong."""
    return lambda rng, size: (rng.random((size, 1)) < share) * 1.0


def right_together(rng: np.random.Generator, size: int) -> Array:
    """Right or wrong, half of five neighbours' answers of one fate."""
    shared = np.repeat(rng.random(-(-size // CLUSTER)), CLUSTER)[:size]
    return np.asarray(np.where(rng.random(size) < 0.5, shared, rng.random(size)) < 0.7, dtype=np.float64)[:, None]


def graded(rng: np.random.Generator, size: int) -> Array:
    """Scores of 0, 1 or between, as token F1 gives."""
    return np.clip(0.6 + 0.6 * rng.normal(size=(size, 1)), 0.0, 1.0)


def skewed(rng: np.random.Generator, size: int) -> Array:
    """Most near 1, some far below."""
    return np.asarray(rng.beta(4.0, 0.6, (size, 1)))


def graded_in_clusters(rng: np.random.Generator, size: int) -> Array:
    """Half the spread shared by five neighbours."""
    shared = np.repeat(rng.normal(size=-(-size // CLUSTER)), CLUSTER)[:size]
    return np.clip(0.5 + 0.3 * (shared + rng.normal(size=size)), 0.0, 1.0)[:, None]


def translated(rng: np.random.Generator, size: int) -> Array:
    """Counts of translations: lengths, n-grams in common, n-grams."""
    length = rng.poisson(np.exp(rng.normal(2.7, 0.5, size))) + 4
    found = np.clip(rng.beta(3.0, 2.0, size) + rng.normal(scale=0.1, size=size), 0.02, 0.98)
    every = [np.maximum(length - order, 0) for order in range(4)]
    common = [rng.binomial(count, found ** (order + 1)) for order, count in enumerate(every)]
    return np.stack([length, np.maximum(1, np.round(length * rng.lognormal(0.05, 0.15, size))), *common, *every], axis=1) * 1.0


def labelled(positive: float, share: float) -> Callable[[np.random.Generator, int], Array]:
    """Two classes, a share of them named right: tp, fp, fn, tn."""

    def draw(rng: np.random.Generator, size: int) -> Array:
        label = rng.random(size) < positive
        said = label ^ (rng.random(size) > share)
        return np.stack([label & said, ~label & said, label & ~said, ~label & ~said], axis=1) * 1.0

    return draw


def confident(low: float, truth: Callable[[Array], Array]) -> Callable[[np.random.Generator, int], Array]:
    """Confidences from `low` to 1, most of them high, and outcomes whose probability is `truth` of them."""

    def draw(rng: np.random.Generator, size: int) -> Array:
        stated = low + (1.0 - low) * rng.beta(2.0, 1.0, size)
        return np.stack([stated, rng.random(size) < truth(stated)], axis=1) * 1.0

    return draw


def squared(stated: Array) -> Array:
    """The odds are the root of those stated."""
    return np.asarray(1.0 / (1.0 + np.sqrt((1.0 - stated) / stated)))


def ratio(sums: Array) -> Array:
    """BLEU, unsmoothed but for half a match."""
    precision = np.log(np.maximum(sums[..., 2:6], 0.5) / sums[..., 6:10]).mean(axis=-1)
    return np.asarray(100.0 * np.exp(precision + np.minimum(0.0, 1.0 - sums[..., 1] / sums[..., 0])))


def matthews(sums: Array) -> Array:
    tp, fp, fn, tn = np.moveaxis(sums, -1, 0)
    product = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return np.where(product > 0.0, (tp * tn - fp * fn) / np.sqrt(np.where(product > 0.0, product, 1.0)), np.nan)


SETTINGS = (
    Setting("right or wrong, half right", right(0.5)),
    Setting("right or wrong, 80 % right", right(0.8), coarse=True),
    Setting("right or wrong, 97 % right", right(0.97), coarse=True),
    Setting("right or wrong, 80 % right, weights 1, 2, 4", right(0.8), weighted=True),
    Setting("right or wrong in fives, 70 % right", right_together, clustered=True),
    Setting("mean of graded scores", graded),
    Setting("mean of skewed scores", skewed),
    Setting("mean of graded scores in fives", graded_in_clusters, clustered=True),
    Setting("BLEU-like ratio of sums", translated, ratio),
    Setting("Matthews, half positive, 80 % right", labelled(0.5, 0.8), matthews),
    Setting("Matthews, 30 % positive, 85 % right", labelled(0.3, 0.85), matthews),
    Setting("calibration error: none", confident(0.25, lambda stated: stated), calibration=True),
    Setting("calibration error: 10 points too sure", confident(0.25, lambda stated: stated - 0.1), calibration=True),
    Setting("calibration error: chance whatever is stated", confident(0.25, lambda stated: 0.25 + 0.0 * stated), calibration=True),
    Setting("calibration error: too sure above 0.8", confident(0.25, lambda stated: np.minimum(stated, 0.8)), calibration=True),
    Setting("calibration error: two classes, squared odds", confident(0.5, squared), calibration=True),
)

if __name__ == "__main__":
    sys.exit(main())
