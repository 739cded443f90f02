"""Do intervals of a judge corrected by few labels keep their word, how often is quality called held though people see a loss of exactly the margin, and
is what the judge is worth within its interval?

Items, labels and the judge's faults are drawn anew in every experiment: a judge that is right, wrong in 20 %, that favours the longer or one side, or says
anything; choices of pairs, ratings, rare losses, and clusters of ten items (`fireassay.stats.people.prediction_powered`).  Markdown on stdout; exit 1 if a
promise is broken by more than 2 Monte Carlo standard errors.

    python benchmarks/judges.py > benchmarks/results/judges.md     (twenty minutes on one core)
    python benchmarks/judges.py --quick                            (a minute)

Promise: 95 % intervals cover 94 to 96 % with 100 and 300 labels of 600 items (93 to 98 % with 30, with clusters, or where the judge is always right; at least
94 % where losses are rare), a loss of the margin is held in at most 5.5 %, and intervals of the worth cover at least 92 %.
"""

from __future__ import annotations

import argparse
import math
import secrets
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fireassay.stats.people.prediction_powered import Judged

Array = NDArray[np.float64]
ITEMS = 600
LABELS = (30, 100, 300)
LEVEL = 0.95
STRICT, LOOSE, RARE = (94.0, 96.0), (93.0, 98.0), (94.0, 100.0)
VALUES = np.array([-0.5, 0.0, 0.5])
LARGE = 2_000_000  # items by which a true correlation is known


@dataclass(frozen=True)
class Setting:
    """What people say, and how a judge errs."""

    words: str
    odds: tuple[float, float, float] = (0.3, 0.4, 0.3)  # of loss, tie and win
    wrong: float = 0.2
    favoured: float = 0.0  # share of items of which it says that the candidate wins
    longer: float = 0.0  # share of which it says that the longer wins
    cluster: int = 1  # items that share half of their outcomes
    whole: bool = False  # changes of ratings, from -4 to 4
    promise: tuple[float, float] = STRICT


SETTINGS = (
    Setting("right", wrong=0.0, promise=RARE),
    Setting("wrong in 20 %"),
    Setting("wrong in 20 %, says the candidate wins in 10 %", favoured=0.1),
    Setting("wrong in 20 %, says the longer wins in 30 %", longer=0.3),
    Setting("says anything", wrong=1.0),
    Setting("rare losses", odds=(0.06, 0.92, 0.02), promise=RARE),
    Setting("ratings", whole=True),
    Setting("clusters of ten items", cluster=10, promise=LOOSE),
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
    print("| judge | labels | covered % | loss of the margin held % | judge alone covers % | worth, median | worth covered % |", flush=True)
    print("|---|---|---|---|---|---|---|", flush=True)
    broken = [words for setting in SETTINGS for labels in LABELS for words in row(setting, labels, runs, seed)]
    print("\n".join(["", "## Broken promises", "", *(f"* {line}" for line in broken or ["none"])]))
    return 1 if broken else 0


def row(setting: Setting, labels: int, runs: int, seed: int) -> Iterator[str]:
    """Coverage of the mean and of the worth, and how often a loss of the margin is held: of a difference whose truth is -margin, the bound above it."""
    rng, large = np.random.default_rng([seed, labels, len(setting.words)]), drawn(np.random.default_rng(1), setting, LARGE)
    truth, r = float(large[0].mean()), float(np.corrcoef(*large)[0, 1])
    worth = labels * (1.0 / (1.0 - max(0.0, r) ** 2 * (1.0 - labels / ITEMS)) - 1.0)
    covered = held = alone = inside = 0
    worths = []
    for _ in range(runs):
        one = judged(rng, setting, labels)
        low, high = one.bounds(LEVEL)
        covered += low <= truth <= high
        held += one.one_sided(LEVEL)[0] > truth
        alone += abs(one.judge_alone - truth) <= 1.96 * float(np.std(one.judge)) / math.sqrt(ITEMS)
        found = one.worth(LEVEL)
        inside += found.low <= worth * (1 + 1e-3) and worth <= found.high * (1 + 1e-3)
        worths.append(found.value)
    shares = [100 * number / runs for number in (covered, held, alone, inside)]
    median = float(np.median(worths))
    print(
        f"| {setting.words} | {labels} | {shares[0]:.1f} | {shares[1]:.1f} | {shares[2]:.1f} | {median:.0f} | {shares[3]:.1f} |", flush=True
    )
    promise = LOOSE if labels == LABELS[0] and setting.promise == STRICT else setting.promise
    yield from off(f"{setting.words}, {labels} labels: covered", shares[0], promise, runs)
    yield from off(f"{setting.words}, {labels} labels: a loss of the margin held in", shares[1], (0.0, 5.5), runs)
    if setting.cluster == 1:
        yield from off(f"{setting.words}, {labels} labels: worth covered", shares[3], (92.0, 100.0), runs)


def judged(rng: np.random.Generator, setting: Setting, labels: int) -> Judged:
    """One experiment's items, of which a random few are labelled."""
    truth, judge = drawn(rng, setting, ITEMS)
    cluster = np.arange(ITEMS) // setting.cluster
    chosen = rng.permutation(ITEMS)[:labels]
    gold = np.full(ITEMS, np.nan)
    gold[chosen] = truth[chosen]
    reach = 4.0 if setting.whole else 0.5
    clusters = None if setting.cluster == 1 else cluster.tolist()
    return Judged(judge=judge, gold=gold, weights=np.ones(ITEMS), clusters=clusters, scale=(-reach, reach))


def drawn(rng: np.random.Generator, setting: Setting, items: int) -> tuple[Array, Array]:
    """What people say of every item, and what the judge says."""
    truth = outcomes(rng, setting, items)
    judge = np.where(rng.random(items) < setting.wrong, outcomes(rng, setting, items), truth)
    top = 4.0 if setting.whole else 0.5
    judge = np.where(rng.random(items) < setting.favoured, top, judge)
    length = rng.choice([-top, top], items)  # which of the two is longer
    return truth, np.where(rng.random(items) < setting.longer, length, judge)


def outcomes(rng: np.random.Generator, setting: Setting, items: int) -> Array:
    if setting.whole:
        return np.asarray(np.clip(np.round(rng.normal(-0.2, 1.0, items)), -4, 4))
    own = rng.choice(VALUES, items, p=setting.odds)
    if setting.cluster == 1:
        return np.asarray(own)
    shared = np.repeat(rng.choice(VALUES, -(-items // setting.cluster), p=setting.odds), setting.cluster)[:items]
    return np.asarray(np.where(rng.random(items) < 0.5, shared, own))


def off(words: str, value: float, promise: tuple[float, float], runs: int) -> Iterator[str]:
    error = 2 * 100 * math.sqrt(0.05 * 0.95 / runs)
    if not promise[0] - error <= value <= promise[1] + error:
        yield f"{words} {value:.1f} %, promised {promise[0]:g} to {promise[1]:g} %"


if __name__ == "__main__":
    sys.exit(main())
