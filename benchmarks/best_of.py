"""How often does the interval of the best of k of 9 candidates hold the truth, and how often is a knee called falsely?

Uniform, skewed (beta), coarse (five-point ratings) and normal scores without a scale, of prompts of unequal difficulty, 30 to 500 prompts; prompts in
clusters of five.  The truth is the mean of many prompts with many candidates, by simulation.  A false knee is a k whose truth is a margin or more below
that of the best of 9: the margin is the gap between 4 and 9, so that 4 is never truly enough.
Markdown on stdout; exit 1 if a coverage is off the promise by more than 2 Monte Carlo standard errors.

    python benchmarks/best_of.py > benchmarks/results/best_of.md     (some 5 minutes on one core)
    python benchmarks/best_of.py --quick                             (some 20 seconds)

Promise: 95 % intervals cover 94 to 96 % (of 30 prompts, or of five-point ratings, 93.5 to 97.5 %); at most 5 % false knees.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fireassay.stats.best_of import weights
from fireassay.stats.comparing.knee import knee_of_rising
from fireassay.stats.comparing.noninferiority import of_items as of_changes
from fireassay.stats.intervals.item_means import of_items

Array = NDArray[np.float64]
N, CONFIDENCE = 9, 0.95
LEVELS = (1, 4, 9)
CLUSTER = 5
LARGE = 400_000  # prompts of which the truth is computed


@dataclass(frozen=True)
class Setting:
    """Scores [prompts, 9] of so many prompts, and their scale."""

    words: str
    draw: Callable[[np.random.Generator, int], Array]
    scale: tuple[float, float]
    loose: bool = False
    clustered: bool = False


def uniform(rng: np.random.Generator, prompts: int) -> Array:
    return 0.5 * (rng.random((prompts, 1)) + rng.random((prompts, N)))


def skewed(rng: np.random.Generator, prompts: int) -> Array:
    hard = rng.beta(2.0, 0.5, (prompts, 1))
    return np.asarray(rng.beta(6.0 * hard + 0.05, 6.0 * (1.0 - hard) + 0.05, (prompts, N)))


def ratings(rng: np.random.Generator, prompts: int) -> Array:
    return np.clip(np.round(3.0 + rng.normal(0.0, 0.7, (prompts, 1)) + rng.normal(0.0, 0.8, (prompts, N))), 1.0, 5.0)


def normal(rng: np.random.Generator, prompts: int) -> Array:
    return np.asarray(20.0 + rng.normal(0.0, 1.0, (prompts, 1)) + rng.normal(0.0, 1.0, (prompts, N)))


def clustered(rng: np.random.Generator, prompts: int) -> Array:
    shared = np.repeat(rng.random((math.ceil(prompts / CLUSTER), 1)), CLUSTER, axis=0)[:prompts]
    return 0.5 * (shared + rng.random((prompts, N)))


UNKNOWN = (-math.inf, math.inf)
SETTINGS = (
    Setting("uniform", uniform, (0.0, 1.0)),
    Setting("skewed", skewed, (0.0, 1.0)),
    Setting("five-point ratings", ratings, (1.0, 5.0), loose=True),
    Setting("normal, no scale", normal, UNKNOWN),
    Setting("uniform, in fives", clustered, (0.0, 1.0), clustered=True),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experiments", type=int, default=4000)
    parser.add_argument("--quick", action="store_true", help="400 experiments of 30 and 200 prompts")
    parser.add_argument("--seed", type=int, default=20261201)
    asked = parser.parse_args()
    experiments, sizes = (400, (30, 200)) if asked.quick else (asked.experiments, (30, 100, 500))
    print(f"Seed {asked.seed}; {experiments} experiments a row.\n")
    print("| scores | prompts | covered at k = 1, 4, 9, % | false knees, % |\n|---|---|---|---|", flush=True)
    broken = [words for setting in SETTINGS for size in sizes for words in row(setting, size, experiments, asked.seed)]
    print("\nEvery promise is kept." if not broken else f"\nBROKEN: {'; '.join(broken)}")
    return 1 if broken else 0


def best(scores: Array, k: int) -> Array:
    """Of each prompt."""
    return np.asarray(np.sort(scores, axis=1) @ weights(N, k))


def row(setting: Setting, size: int, experiments: int, seed: int) -> list[str]:
    """Print a row; the promises that it breaks."""
    rng = np.random.default_rng([seed, size])
    large = setting.draw(rng, LARGE)
    truth = {k: float(best(large, k).mean()) for k in LEVELS}
    labels = [index // CLUSTER for index in range(size)] if setting.clustered else None
    covered, false = dict.fromkeys(LEVELS, 0), 0
    for _ in range(experiments):
        scores = setting.draw(rng, size)
        values = {k: best(scores, k) for k in LEVELS}
        for k in LEVELS:
            interval = of_items(values[k], np.ones(size), labels, setting.scale, CONFIDENCE)
            covered[k] += interval.low <= truth[k] <= interval.high
        reach = setting.scale[1] - setting.scale[0] if setting.scale != UNKNOWN else float(np.ptp(scores))

        def lower(one: int, _: int, confidence: float, values: dict[int, Array] = values, reach: float = reach) -> float:
            return of_changes(values[LEVELS[one]] - values[N], confidence, reach, labels, fixed=False).low

        false += knee_of_rising(len(LEVELS), lower, truth[9] - truth[4], CONFIDENCE).at < len(LEVELS) - 1
    shares = {k: covered[k] / experiments for k in LEVELS}
    print(
        f"| {setting.words} | {size} | {', '.join(f'{100 * share:.1f}' for share in shares.values())} | {100 * false / experiments:.1f} |",
        flush=True,
    )
    low, high = (0.935, 0.975) if setting.loose or size < 100 else (0.94, 0.96)
    slack = 2.0 * math.sqrt(0.05 * 0.95 / experiments)
    broken = [
        f"{setting.words}, {size}, k = {k}: {100 * share:.1f} %" for k, share in shares.items() if not low - slack <= share <= high + slack
    ]
    return [*broken, *([f"{setting.words}, {size}: {false} false knees"] if false / experiments > 0.05 + slack else [])]


if __name__ == "__main__":
    sys.exit(main())
