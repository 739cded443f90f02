"""Do the gain of a choice by another score and the selection's optimism hold the truth?

Nine candidates a prompt.  The deciding score chooses the best of k; the other score agrees with it by a correlation rho, within prompts of unequal
difficulty: normal scores without a scale, scores between 0 and 1, five-point ratings whose ties are chosen alike, and prompts in clusters of five.
The truth is the mean over very many prompts of a choice among k drawn candidates, by simulation, for normal scores rho and 1 - rho of the expected
largest of k.  Markdown on stdout; exit 1 if a coverage is off the promise by more than 2 Monte Carlo standard errors.

    python benchmarks/choice_gain.py > benchmarks/results/choice_gain.md     (some 20 minutes on one core)
    python benchmarks/choice_gain.py --quick                                 (about a minute)

Promise: 95 % intervals of gain and optimism cover 94 to 96 % (of 30 prompts, or of five-point ratings, 93.5 to 97.5 %); where both scores are one, the
optimism is 0 in every experiment.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fireassay.stats.best_of import expected_best, expected_chosen
from fireassay.stats.intervals.item_means import of_items

Array = NDArray[np.float64]
Scores = tuple[Array, Array]  # the deciding score and the other one, each [prompts, candidates]
N, CONFIDENCE, CLUSTER, LARGE = 9, 0.95, 5, 200_000
LEVELS = (4, 9)
UNKNOWN = (-math.inf, math.inf)


@dataclass(frozen=True)
class Setting:
    """Scores of so many prompts and candidates, and their scale."""

    words: str
    draw: Callable[[np.random.Generator, int, int], Scores]
    scale: tuple[float, float]
    loose: bool = False
    clustered: bool = False


def normal(rho: float) -> Callable[[np.random.Generator, int, int], Scores]:
    def draw(rng: np.random.Generator, prompts: int, candidates: int) -> Scores:
        seen, unseen = rng.normal(size=(2, prompts, candidates))
        hard = rng.normal(size=(prompts, 1))
        return hard + seen, hard + rho * seen + math.sqrt(1.0 - rho * rho) * unseen

    return draw


def between(rng: np.random.Generator, prompts: int, candidates: int) -> Scores:
    hard, good, own, other = rng.random((prompts, 1)), *rng.random((3, prompts, candidates))
    return 0.4 * hard + 0.4 * good + 0.2 * own, 0.4 * hard + 0.4 * good + 0.2 * other


def ratings(rng: np.random.Generator, prompts: int, candidates: int) -> Scores:
    first, second = normal(0.6)(rng, prompts, candidates)
    return np.clip(np.round(3.0 + 0.8 * first), 1.0, 5.0), np.clip(np.round(3.0 + 0.8 * second), 1.0, 5.0)


def in_fives(rng: np.random.Generator, prompts: int, candidates: int) -> Scores:
    """The two scores agree in some clusters and not in others."""
    rho = np.repeat(rng.random((math.ceil(prompts / CLUSTER), 1)), CLUSTER, axis=0)[:prompts]
    seen, unseen = rng.normal(size=(2, prompts, candidates))
    return seen, rho * seen + np.sqrt(1.0 - rho * rho) * unseen


SETTINGS = (
    Setting("normal, rho 0.5", normal(0.5), UNKNOWN),
    Setting("normal, rho 0", normal(0.0), UNKNOWN),
    Setting("between 0 and 1", between, (0.0, 1.0)),
    Setting("five-point ratings", ratings, (1.0, 5.0), loose=True),
    Setting("in fives, rho by cluster", in_fives, UNKNOWN, clustered=True),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experiments", type=int, default=2000)
    parser.add_argument("--quick", action="store_true", help="200 experiments of 30 and 100 prompts")
    parser.add_argument("--seed", type=int, default=20261201)
    asked = parser.parse_args()
    experiments, sizes = (200, (30, 100)) if asked.quick else (asked.experiments, (30, 100, 500))
    print(f"Seed {asked.seed}; {experiments} experiments a row, the best of {', '.join(map(str, LEVELS))} of {N}.\n")
    print("| scores | prompts | gain covered, % | optimism covered, % | true gain | true optimism |\n|---|---|---|---|---|---|", flush=True)
    broken = [words for setting in SETTINGS for words in rows(setting, sizes, experiments, asked.seed)]
    broken += same_score(asked.seed)
    print("\nEvery promise is kept." if not broken else f"\nBROKEN: {'; '.join(broken)}")
    return 1 if broken else 0


def truth(setting: Setting, k: int, rng: np.random.Generator) -> tuple[float, float]:
    """Gain of the other score and optimism, of a choice among k candidates, tied ones alike."""
    by, of = setting.draw(rng, LARGE, k)
    chosen = (by + 1e-9 * rng.random(by.shape)).argmax(axis=1)
    gain = float((of[np.arange(LARGE), chosen] - of.mean(axis=1)).mean())
    return gain, float((by.max(axis=1) - by.mean(axis=1)).mean()) - gain


def of_prompts(by: Array, of: Array, k: int) -> tuple[Array, Array]:
    """Gain and optimism of each prompt, as `fireassay.frames.evaluation.candidates` folds them."""
    gain = np.array([expected_chosen(mine, other, k) - other.mean() for mine, other in zip(by, of, strict=True)])
    own = np.array([expected_best(mine, k) - mine.mean() for mine in by])
    return gain, own - gain


def rows(setting: Setting, sizes: tuple[int, ...], experiments: int, seed: int) -> Iterator[str]:
    """Print a row for each size; the promises that it breaks."""
    rng = np.random.default_rng([seed, len(setting.words)])
    true = {k: truth(setting, k, rng) for k in LEVELS}
    reach = setting.scale[1] - setting.scale[0]
    scales = ((-reach, reach), (-reach, 2.0 * reach))
    for size in sizes:
        labels = [index // CLUSTER for index in range(size)] if setting.clustered else None
        covered = np.zeros((len(LEVELS), 2))
        for _ in range(experiments):
            by, of = setting.draw(rng, size, N)
            for place, k in enumerate(LEVELS):
                for which, values in enumerate(of_prompts(by, of, k)):
                    interval = of_items(values, np.ones(size), labels, scales[which], CONFIDENCE)
                    covered[place, which] += interval.low <= true[k][which] <= interval.high
        shares = covered / experiments
        told = [", ".join(f"{100.0 * share:.1f}" for share in column) for column in shares.T]
        values = [", ".join(f"{true[k][which]:.3f}" for k in LEVELS) for which in (0, 1)]
        print(f"| {setting.words} | {size} | {' | '.join((*told, *values))} |", flush=True)
        yield from off(setting, size, shares, experiments)


def off(setting: Setting, size: int, shares: Array, experiments: int) -> Iterator[str]:
    low, high = (0.935, 0.975) if setting.loose or size < 100 else (0.94, 0.96)
    slack = 2.0 * math.sqrt(0.05 * 0.95 / experiments)
    for k, pair in zip(LEVELS, shares, strict=True):
        for name, share in zip(("gain", "optimism"), pair, strict=True):
            if not low - slack <= share <= high + slack:
                yield f"{setting.words}, {size}, {name} of {k}: {100.0 * share:.1f} %"


def same_score(seed: int) -> list[str]:
    """A score that judges its own choice sees no optimism."""
    by, _ = normal(0.5)(np.random.default_rng(seed), 50, N)
    largest = max(float(np.abs(of_prompts(by, by, k)[1]).max()) for k in LEVELS)
    return [] if largest < 1e-12 else [f"optimism of a score by itself: {largest:g}"]


if __name__ == "__main__":
    sys.exit(main())
