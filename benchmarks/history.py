"""Does the detector over history keep its rate of false alarms, and does it find what it should?

Fixed seeds, so the same figures on every machine; Markdown on stdout.  Exit 1 if a promise is broken.

    python benchmarks/history.py --repetitions 2000 > history.md

Promises, at the level of 1 %: at most 1 % of histories of independent values hold a change that is none (and of AR(0.5)
ones at most 3 %), + 3 Monte Carlo standard errors; a step of 3 standard deviations is found in at least 80 % of histories of
50 values or more once 3 values show it, and in 95 % once 5 do; two steps of which the second takes the first back are both
found in at least 80 % of histories of 100 or more; at least 95 % of series of steps are put in the right class of steady
state, with AR(0.5) noise from 100 steps on.  Rivals stand beside: single values permuted whatever their dependence, and
the usual switch to blocks of max(5, n/8) values where the raw lag-1 autocorrelation exceeds 0.2.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from assay.stats.autocorrelation import lag_one
from assay.stats.changes import change_in_history, changes_in_history, permutation_p
from assay.stats.steady import steady_state

Array = NDArray[np.float64]
LEVEL, PERMUTATIONS = 0.01, 999
LENGTHS = (20, 50, 100, 200)
RIVALS = "single values %|switch to blocks %"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=300, help="simulated histories in each row")
    repetitions: int = parser.parse_args().repetitions
    parts = (false_alarms, recall, places, steady_states)
    broken = [problem for part in parts for problem in part(repetitions)]
    print("\n".join(["", "## Broken promises", "", *(f"* {line}" for line in broken or ["none"])]))
    return 1 if broken else 0


def false_alarms(repetitions: int) -> Iterator[str]:
    """Histories without a change in which one is found."""
    title("Histories without a change: found all the same", f"noise|n|a change %|a suspected one %|{RIVALS}")
    for (noise, most), n in itertools.product((("normal", 0.01), ("lognormal", 0.01), ("AR(0.5)", 0.03)), LENGTHS):
        rng = np.random.default_rng([1, n, len(noise)])
        kinds = [seen(noisy(noise, rng, n), rng) for _ in range(repetitions)]
        alarms, suspected = (float(x) for x in np.mean(kinds, axis=0))
        others = np.mean([rivals(noisy(noise, rng, n), rng) for _ in range(repetitions // 3)], axis=0)
        row(noise, n, *map(percent, (alarms, suspected, *map(float, others))))
        if alarms > most + 3 * math.sqrt(most * (1 - most) / repetitions):
            yield f"{noise} noise, n = {n}: {alarms:.3f} false alarms"


def seen(values: Array, rng: np.random.Generator) -> tuple[bool, bool]:
    """Whether a change or a suspected one is found."""
    found = changes_in_history(values, rng, alpha=LEVEL, permutations=PERMUTATIONS)
    kinds = {change.kind for change in found}
    return "change" in kinds, "suspected" in kinds


def rivals(values: Array, rng: np.random.Generator) -> tuple[bool, bool]:
    """Whether permuting single values finds a change, and whether the switch to blocks does."""
    single = permutation_p(values, rng, permutations=PERMUTATIONS) <= LEVEL
    if lag_one(values) <= 0.2:
        return single, single
    block = max(5, len(values) // 8)
    return single, permutation_p(values, rng, permutations=PERMUTATIONS, block=block) <= LEVEL


def recall(repetitions: int) -> Iterator[str]:
    """Steps at the end, and one in the middle."""
    title("A step in normal noise: found", f"step (sd)|values that show it|n|found %|{RIVALS}")
    cases = ((3.0, "3", 0.80), (3.0, "5", 0.95), (2.0, "half", 0.95))
    for (size, shown, least), n in itertools.product(cases, LENGTHS):
        rng = np.random.default_rng([2, n, len(shown), int(size)])
        tail = n // 2 if shown == "half" else int(shown)
        step = np.where(np.arange(n) >= n - tail, size, 0.0)
        own = [change_in_history(rng.normal(size=n) + step, rng, alpha=LEVEL).kind for _ in range(repetitions)]
        found = own.count("change") / repetitions
        others = np.mean([rivals(rng.normal(size=n) + step, rng) for _ in range(repetitions // 3)], axis=0)
        row(size, shown, n, *map(percent, (found, *map(float, others))))
        if n >= 50 and found < least - 3 * math.sqrt(least * (1 - least) / repetitions):
            yield f"a step of {size} sd shown by {shown} values among {n} is found in {found:.3f}"


def places(repetitions: int) -> Iterator[str]:
    """Two steps: are both found, within three values, and nothing else?"""
    title("Two steps of 3 sd, at a third and at two thirds", "noise|n|both and nothing else %|places within 3 values %")
    for noise, n in itertools.product(("normal", "AR(0.5)"), (50, 100, 200)):
        rng, count = np.random.default_rng([3, n, len(noise)]), max(50, repetitions // 5)
        truth = (n // 3, 2 * n // 3)
        both = near = 0
        for _ in range(count):
            t = np.arange(n)
            level = np.where(t >= truth[0], 3.0, 0.0) - np.where(t >= truth[1], 3.0, 0.0)
            sd = 1.0 if noise == "normal" else math.sqrt(1 / 0.75)
            found = changes_in_history(noisy(noise, rng, n) + sd * level, rng)
            found = tuple(change for change in found if change.kind == "change")
            if len(found) == 2:
                both += 1
                near += all(abs((c.index or 0) - at) <= 3 for c, at in zip(found, truth, strict=True))
        row(noise, n, percent(both / count), percent(near / max(both, 1)))
        if noise == "normal" and n >= 100 and both < 0.8 * count:
            yield f"both of two steps among {n} are found in {both / count:.3f}"


SHAPES = {"flat": "flat", "step": "warm-up", "decay": "warm-up", "throttled": "slow-down", "rising": "no steady state"}


def steady_states(repetitions: int) -> Iterator[str]:
    """Share of series of step times that are put in their class, with independent and with autocorrelated noise of 2 %."""
    title("Series of steps put in their class", "noise|points|" + "|".join(f"{name} %" for name in SHAPES))
    count = max(50, repetitions // 5)
    for noise, n in itertools.product(("normal", "AR(0.5)"), (50, 100, 300, 1000)):
        rng, t = np.random.default_rng([4, n, len(noise)]), np.arange(float(n))
        right = [
            float(np.mean([steady_state(level(shape, t) * (1 + 0.02 * noisy(noise, rng, n))).kind == kind for _ in range(count)]))
            for shape, kind in SHAPES.items()
        ]  # fmt: skip
        row(noise, n, *map(percent, right))
        carried = n >= (
            50 if noise == "normal" else 100
        )  # 50 values of AR(0.5) noise say as much as 17 independent ones
        if carried and min(right) < 0.95 - 3 * math.sqrt(0.95 * 0.05 / count):
            yield f"only {min(right):.2f} of series of {n} points with {noise} noise are put in their class"


def level(shape: str, t: Array) -> Array:
    """The true duration at step t."""
    n = len(t)
    shapes = {
        "flat": np.ones(n),
        "step": np.where(t < 0.2 * n, 1.5, 1.0),
        "decay": 1 + np.exp(-t / (0.04 * n)),
        "throttled": np.where(t < 0.3 * n, 1.0, 1.4),
        "rising": 1 + t / n,
    }
    return shapes[shape]


def noisy(noise: str, rng: np.random.Generator, n: int) -> Array:
    """Noise of about one standard deviation; AR(0.5) has innovations of that size."""
    if noise == "lognormal":
        return np.asarray(np.exp(0.5 * rng.normal(size=n)), dtype=np.float64)
    if noise == "normal":
        return rng.normal(size=n)
    values = [0.0]
    for e in rng.normal(size=n + 49):
        values.append(0.5 * values[-1] + e)
    return np.array(values[50:])


def title(text: str, columns: str) -> None:
    names = columns.split("|")
    print(f"\n## {text}\n\n| {' | '.join(names)} |\n|{'---|' * len(names)}", flush=True)


def row(*cells: object) -> None:
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def percent(share: float) -> str:
    return f"{100 * share:.1f}"


if __name__ == "__main__":
    sys.exit(main())
