"""Do intervals of ratings by few people keep their word, and how often is quality called held though people rate it lower by exactly the margin?

Raters and items are drawn anew in every experiment, from normal effects, with some cells missing or ratings rounded to 1 to 5: means and
differences paired by rater (`fireassay.stats.people.crossed_raters`), win rates with ties, Davidson strengths (`paired_comparison`), interval
alpha (`agreement`), and the sequence of looks (`wins_sequence`).  Markdown on stdout; exit 1 if a promise is broken by more than 2 Monte Carlo
standard errors.

    python benchmarks/people.py > benchmarks/results/people.md     (10 minutes on one core)
    python benchmarks/people.py --quick                            (a minute)

Promise: 95 % intervals of means and differences cover 94 to 96 % with 5, 20 and 100 raters (94 to 98 % where raters do not differ, since
they might), a loss of the margin is held in at most 5.5 %, and a winner is named wrongly in at most 5 % over all looks.  Strengths and alpha cover
at least 92 %.
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

from fireassay.stats.people.agreement import Table, alpha
from fireassay.stats.people.crossed_raters import Ratings, codes, crossed_mean
from fireassay.stats.people.paired_comparison import Choices, Strengths, strengths
from fireassay.stats.people.wins_sequence import stop

Array = NDArray[np.float64]
RATERS = (5, 20, 100)
ITEMS = 100
LEVEL = 0.95
STRICT, ALIKE, LOOSE = (94.0, 96.0), (94.0, 98.0), (92.0, 100.0)
MARGIN = 0.3
LOOKS = 300


@dataclass(frozen=True)
class Setting:
    """Standard deviations of items, raters and the rest, the share of missing cells, and whether ratings are whole numbers."""

    words: str
    item: float
    rater: float
    rest: float
    missing: float = 0.0
    whole: bool = False
    promise: tuple[float, float] = STRICT


SETTINGS = (
    Setting("complete", 0.6, 0.4, 0.7),
    Setting("half of the cells missing", 0.6, 0.4, 0.7, missing=0.5),
    Setting("nine of ten missing", 0.6, 0.4, 0.7, missing=0.9),
    Setting("whole numbers 1 to 5", 0.6, 0.4, 0.7, whole=True),
    Setting("raters alike", 0.6, 0.0, 0.7, promise=ALIKE),
    Setting("raters differ most", 0.2, 0.8, 0.4),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experiments", type=int, default=4000)
    parser.add_argument("--quick", action="store_true", help="400 experiments")
    parser.add_argument("--seed", type=int, help="repeat a run")
    asked = parser.parse_args()
    seed = asked.seed if asked.seed is not None else secrets.randbits(32)
    runs = 400 if asked.quick else asked.experiments
    print(f"Seed {seed}; {runs} experiments a row of {ITEMS} items; 95 % intervals.\n")
    print("| what | raters | covered % | loss of the margin held % |\n|---|---|---|---|", flush=True)
    broken = [words for setting in SETTINGS for raters in RATERS for words in mean_row(setting, raters, runs, seed)]
    print("\n| what | raters | covered % |\n|---|---|---|", flush=True)
    for name, one in (("Davidson strength", strength_covers), ("win rate", win_rate_covers), ("interval alpha", alpha_covers)):
        for raters in RATERS[:2]:
            broken += share_row(name, one, raters, max(100, runs // 4), seed)
    print("\n| winner named, no side better | % of sequences |\n|---|---|", flush=True)
    for ties in (0.0, 0.4):
        broken += looks_row(ties, runs, seed)
    print("\n".join(["", "## Broken promises", "", *(f"* {line}" for line in broken or ["none"])]))
    return 1 if broken else 0


def mean_row(setting: Setting, raters: int, runs: int, seed: int) -> Iterator[str]:
    """Coverage of the mean difference, and how often a loss of the margin is held."""
    rng = np.random.default_rng([seed, raters, len(setting.words)])
    truth = 0.0 if not setting.whole else true_mean(setting)
    covered = held = 0
    for _ in range(runs):
        found = crossed_mean(drawn(rng, setting, raters))
        interval = found.interval(LEVEL)
        covered += interval.low <= truth <= interval.high
        held += found.lower(LEVEL) > truth  # of a difference whose truth is -margin: its lower bound above -margin
    print(f"| {setting.words} | {raters} | {100 * covered / runs:.1f} | {100 * held / runs:.1f} |", flush=True)
    yield from off(f"{setting.words}, {raters} raters: covered", 100 * covered / runs, setting.promise, runs)
    if 100 * held / runs > 5.5 + 2 * 100 * math.sqrt(0.05 * 0.95 / runs):
        yield f"{setting.words}, {raters} raters: a loss of the margin held in {100 * held / runs:.1f} %"


def drawn(rng: np.random.Generator, setting: Setting, raters: int, items: int = ITEMS) -> Ratings:
    """Ratings, or differences of ratings, with mean 0, or of whole numbers around 3.4."""
    values = (
        rng.normal(0, setting.item, (items, 1)) + rng.normal(0, setting.rater, (1, raters)) + rng.normal(0, setting.rest, (items, raters))
    )
    if setting.whole:
        values = np.clip(np.round(3.4 + values), 1, 5)
    row, column = np.nonzero(rng.random(values.shape) >= setting.missing)
    return Ratings.of(values[row, column], row.tolist(), column.tolist())


def true_mean(setting: Setting) -> float:
    """Of rounded and cut values: over very many."""
    spread = math.hypot(setting.item, setting.rater, setting.rest)
    return float(np.clip(np.round(3.4 + np.random.default_rng(1).normal(0, spread, 4_000_000)), 1, 5).mean())


def off(words: str, value: float, promise: tuple[float, float], runs: int) -> Iterator[str]:
    error = 2 * 100 * math.sqrt(0.05 * 0.95 / runs)
    if not promise[0] - error <= value <= promise[1] + error:
        yield f"{words} {value:.1f} %, promised {promise[0]:g} to {promise[1]:g} %"


def share_row(name: str, one: Callable[[np.random.Generator, int], bool], raters: int, runs: int, seed: int) -> list[str]:
    """Coverage of a number of its own."""
    rng = np.random.default_rng([seed, raters, len(name)])
    covered = 100 * sum(one(rng, raters) for _ in range(runs)) / runs
    print(f"| {name} | {raters} | {covered:.1f} |", flush=True)
    return list(off(f"{name}, {raters} raters: covered", covered, LOOSE, runs))


def strength_covers(rng: np.random.Generator, raters: int) -> bool:
    """Three sides; everybody chooses once for each item, between two of them."""
    true = np.array([0.0, 0.5, -0.4])
    item, rater = (labels.ravel() for labels in np.indices((60, raters)))
    first = rng.integers(0, 3, len(item))
    second = (first + rng.integers(1, 3, len(item))) % 3
    x = true[first] - true[second] + 0.3
    odds = np.exp(np.stack([x / 2, np.full(len(x), -0.5), -x / 2], axis=1))
    outcome = (rng.random((len(x), 1)) > np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)).sum(axis=1)
    found = strengths(Choices(first=first, second=second, outcome=outcome, items=item, raters=rater, sides=3))
    if not isinstance(found, Strengths):
        return True
    interval = found.of_side(1, LEVEL)
    return interval.low <= true[1] <= interval.high


def win_rate_covers(rng: np.random.Generator, raters: int) -> bool:
    """Wins, ties and losses by raters and items that lean either way; the truth is one half by symmetry."""
    lean = rng.normal(0, 0.5, (60, 1)) + rng.normal(0, 0.4, (1, raters)) + rng.normal(0, 1, (60, raters))
    values = np.where(np.abs(lean) < 0.3, 0.5, (lean > 0).astype(float))
    item, rater = (labels.ravel() for labels in np.indices(values.shape))
    interval = crossed_mean(Ratings.of(values.ravel(), item.tolist(), rater.tolist())).interval(LEVEL)
    return interval.low <= 0.5 <= interval.high


def alpha_covers(rng: np.random.Generator, raters: int) -> bool:
    """Equal variances of items and noise: interval alpha is the intraclass correlation, one half."""
    values = np.round(rng.normal(0, 1, (60, 1)) + rng.normal(0, 1, (60, raters)), 1)
    item, rater = (labels.ravel() for labels in np.indices(values.shape))
    interval = alpha(Table.of(values.ravel(), item, codes(rater.tolist())), "interval", LEVEL).interval
    return interval.low <= 0.5 <= interval.high


def looks_row(ties: float, runs: int, seed: int) -> list[str]:
    """How often a winner is named of equal sides, at any of the looks."""
    rng = np.random.default_rng([seed, round(10 * ties)])
    named = 0
    for _ in range(runs):
        values = np.where(rng.random(LOOKS) < ties, 0.5, rng.integers(0, 2, LOOKS))
        named += stop(values, 0.05).verdict != "go on"
    print(f"| {LOOKS} looks, {100 * ties:g} % ties | {100 * named / runs:.1f} |", flush=True)
    return (
        [f"{ties:g} ties: a winner in {100 * named / runs:.1f} %"]
        if 100 * named / runs > 5.0 + 2 * 100 * math.sqrt(0.05 * 0.95 / runs)
        else []
    )


if __name__ == "__main__":
    sys.exit(main())
