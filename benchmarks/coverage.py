"""Do the statistics keep their promises on data whose truth is known?

Fixed seeds, so the same figures on every machine; Markdown on stdout.  Exit 1 if a promise is broken.

    python benchmarks/coverage.py --repetitions 2000 > coverage.md

Promises: the 95 % interval of launch values covers 93.5 to 96.5 %; a true loss of exactly the margin is called HELD in at
most 5.5 % of experiments (+ 3 Monte Carlo standard errors); at least 95 % of series of 50 points or more with independent
normal noise are put in their class.  Rivals stand beside them, to show what the promise costs and what it avoids.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from fireassay.stats.comparing.noninferiority import crossed, tango_z
from fireassay.stats.intervals.intervals import log_t, t_quantile
from fireassay.stats.series.steady_state import steady_state

Array = NDArray[np.float64]
HELD_LIMIT = 0.055
CLASSES = {"flat": "flat", "step": "warm-up", "decay": "warm-up", "throttled": "slow-down", "rising": "no steady state"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=300, help="simulated experiments in each row")
    repetitions: int = parser.parse_args().repetitions
    parts = (intervals, one_launch, flips_over_launches, graded_over_launches, steady_states)
    broken = [problem for part in parts for problem in part(repetitions)]
    print("\n".join(["", "## Broken promises", "", *(f"* {line}" for line in broken or ["none"])]))
    return 1 if broken else 0


def intervals(repetitions: int) -> Iterator[str]:
    """Coverage of the 95 % interval of the median step over k launches of 50 steps, beside t on all steps pooled."""
    title("Coverage of the 95 % interval of two-level data", "k|ICC|t on logs of launch medians %|t on pooled steps %")
    for k, icc in itertools.product((5, 10), (0.0, 0.1, 0.5)):
        rng, n = np.random.default_rng([1, k, int(10 * icc)]), 4 * repetitions
        launch, steps = rng.normal(size=(n, k, 1)), rng.normal(size=(n, k, 50))
        values = 0.3 * (math.sqrt(icc) * launch + math.sqrt(1 - icc) * steps)
        own = [log_t(np.exp(np.median(x, axis=1)), 0.95) for x in values]
        covered = float(np.mean([x.low <= 1 <= x.high for x in own]))
        flat = values.reshape(n, -1)
        half = t_quantile(0.975, 50 * k - 1) * flat.std(axis=1, ddof=1) / math.sqrt(50 * k)
        pooled = float(np.mean(np.abs(flat.mean(axis=1)) <= half))
        row(k, icc, percent(covered), percent(pooled))
        if abs(covered - 0.95) > 0.015 + 3 * math.sqrt(0.95 * 0.05 / n):
            yield f"log_t covers {covered:.3f} at k={k}, ICC={icc}"


def one_launch(repetitions: int) -> Iterator[str]:
    """False HELD of binary scores of one launch, by adding up all tables: no simulation."""
    title("False HELD at the margin, one launch, exact", "n|flips %|margin (points)|Tango %|Wald %")
    for n, rate, margin in ((100, 0.15, 0.05), (100, 0.05, 0.02), (300, 0.05, 0.02), (1000, 0.15, 0.02), (1000, 0.02, 0.01)):
        score = wald = 0.0
        for b, c, probability in tables(n, (rate + margin) / 2, (rate - margin) / 2):
            spread = ((b + c) / n - ((c - b) / n) ** 2) / (n - 1)
            score += probability * (tango_z(b, c, n, -margin) >= 1.6448536)
            wald += probability * ((c - b) / n + margin >= 1.6448536 * math.sqrt(spread))
        row(n, percent(rate), 100 * margin, percent(score), percent(wald))
        if score > HELD_LIMIT:
            yield f"Tango holds {score:.3f} at n={n}, flips={rate}, margin={margin}"


def flips_over_launches(repetitions: int) -> Iterator[str]:
    """Flips in k launches: they stay, come and go, or half and half; some always flip ("mixed"); launches differ or not."""
    title(
        "False HELD at the margin, and power without a loss, k launches of binary scores",
        "k|n|flips %|margin|flips that|launch sd / item SE|false HELD %|Satterthwaite %|power %|Satterthwaite %",
    )
    for at in flip_settings():
        rng = np.random.default_rng(at.seed)
        size = outcome((at.draw(rng) for _ in range(repetitions)), at.margin)
        power = outcome((at.draw_equal(rng) for _ in range(repetitions // 3)), at.margin)
        row(*at.cells, *map(percent, (*size, *power)))
        yield from held_too_often(size[0], repetitions, at.name)


def graded_over_launches(repetitions: int) -> Iterator[str]:
    """Normal differences: standard deviations of launch, item and rest, in units of the rest's."""
    title("False HELD at the margin, k launches of graded scores", "k|n|launch sd / item SE|item sd / rest sd|false HELD %|Satterthwaite %")
    for at in graded_settings():
        rng = np.random.default_rng(at.seed)
        size = outcome((at.draw(rng) for _ in range(2 * repetitions)), at.margin)
        row(*at.cells, percent(size[0]), percent(size[1]))
        yield from held_too_often(size[0], 2 * repetitions, at.name)


def steady_states(repetitions: int) -> Iterator[str]:
    """Share of series that are put in their class."""
    title("Series put in their class", "noise|points|" + "|".join(f"{name} %" for name in CLASSES))
    count = max(20, repetitions // 5)
    for noise, n in itertools.product(("normal", "lognormal", "spikes", "AR(0.5)"), (20, 50, 100, 300, 1000)):
        rng, t = np.random.default_rng([4, n]), np.arange(float(n))
        right = [
            np.mean([steady_state(level(shape, t) * noisy(noise, rng, n)).kind == kind for _ in range(count)])
            for shape, kind in CLASSES.items()
        ]
        row(noise, n, *(percent(float(x)) for x in right))
        if noise == "normal" and n >= 50 and min(right) < 0.95 - 3 * math.sqrt(0.95 * 0.05 / count):
            yield f"only {min(right):.2f} of series of {n} points with normal noise are put in their class"


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A design and a truth: `draw` gives an experiment with a loss of the margin, `draw_equal` one without a loss."""

    k: int
    seed: list[int]
    name: str
    cells: tuple[object, ...]
    margin: float
    draw: Callable[[np.random.Generator], Array]
    draw_equal: Callable[[np.random.Generator], Array]


def flip_settings() -> Iterator[Setting]:
    """216 settings of binary scores."""
    grid = itertools.product((3, 5, 10), (100, 300, 1000), ((0.05, 0.02), (0.15, 0.05)), KINDS, (0, 1, 3))
    for k, n, (rate, loss), kind, ratio in grid:
        sd = ratio * math.sqrt(rate / n)
        margin = loss * (1 - sd * math.sqrt(2 / math.pi)) * (1 - rate / 4 if kind == "mixed" else 1)
        yield Setting(
            k=k,
            seed=[2, k, n, int(100 * rate), KINDS.index(kind), ratio],
            name=f"k={k} n={n} flips={rate} {kind} launch sd={ratio}",
            cells=(k, n, percent(rate), f"{100 * margin:.2f}", kind, ratio),
            margin=margin,
            draw=partial(flipping, k=k, n=n, rate=rate, loss=loss, kind=kind, launch_sd=sd),
            draw_equal=partial(flipping, k=k, n=n, rate=rate, loss=0.0, kind=kind, launch_sd=sd),
        )


def graded_settings() -> Iterator[Setting]:
    """72 settings of normal differences, lost margin 0.1; at infinity the launches differ as much as the items do."""
    for k, n, ratio, item in itertools.product((3, 5, 10), (30, 300), (0.0, 1.0, 3.0, math.inf), (0, 1, 3)):
        launch = float(item) if math.isinf(ratio) else ratio * math.sqrt((item**2 + 1) / n)
        equal = partial(graded, k=k, n=n, launch_sd=launch, item_sd=item)
        yield Setting(
            k=k,
            seed=[3, k, n, 99 if math.isinf(ratio) else int(ratio), item],
            name=f"graded k={k} n={n} launch sd={ratio} item sd={item}",
            cells=(k, n, "as the items" if math.isinf(ratio) else ratio, item),
            margin=0.1,
            draw=partial(graded, k=k, n=n, launch_sd=launch, item_sd=item, mean=-0.1),
            draw_equal=equal,
        )


KINDS = ("stay", "half stay", "come and go", "mixed")


def flipping(rng: np.random.Generator, k: int, n: int, rate: float, loss: float, kind: str, launch_sd: float) -> Array:
    """[launches, items] of -1, 0, 1; a launch flips a normal share of its own besides, all in one direction."""

    def draw(shape: tuple[int, int], part: float = 1.0) -> Array:
        u = rng.random(shape) / part
        return np.where(u < (rate + loss) / 2, -1.0, np.where(u < rate, 1.0, 0.0))

    if kind == "mixed":
        lasting = draw((1, n), 0.5)
        d = np.where(lasting != 0, lasting, draw((k, n), 0.5))
    else:
        d = np.where(rng.random((k, n)) < {"stay": 1.0, "half stay": 0.5, "come and go": 0.0}[kind], draw((1, n)), draw((k, n)))
    shift = rng.normal(0, launch_sd, (k, 1))
    return np.where(rng.random((k, n)) < np.abs(shift), np.sign(shift), d)


def graded(rng: np.random.Generator, k: int, n: int, launch_sd: float, item_sd: float, mean: float = 0.0) -> Array:
    """[launches, items] of normal differences with this true mean; what is neither launch nor item has deviation 1."""
    return mean + rng.normal(0, launch_sd, (k, 1)) + rng.normal(0, item_sd, (1, n)) + rng.normal(0, 1, (k, n))


def outcome(experiments: Iterator[Array], margin: float) -> tuple[float, float]:
    """Share HELD by assay and by one t with Satterthwaite's degrees of freedom."""
    held = [(crossed(d, margin).verdict == "HELD", satterthwaite(d) > -margin) for d in experiments]
    own, rival = np.mean(held, axis=0)
    return float(own), float(rival)


def satterthwaite(d: Array) -> float:
    """The rival's lower bound: mean - t[df] sqrt(max(A + B - E, A, B)), df by Satterthwaite, at least min(k, n) - 1."""
    k, n = d.shape
    rows, columns = d.mean(axis=1), d.mean(axis=0)
    rest = float(np.sum((d - rows[:, None] - columns + d.mean()) ** 2)) / ((k - 1) * (n - 1))
    a, b, e = float(rows.var(ddof=1)) / k, float(columns.var(ddof=1)) / n, rest / (k * n)
    if max(a, b) == 0.0:
        return float(d.mean())
    variance = max(a + b - e, a, b)
    df = variance**2 / (a**2 / (k - 1) + b**2 / (n - 1) + e**2 / ((k - 1) * (n - 1)))
    return float(d.mean()) - t_quantile(0.95, max(df, min(k, n) - 1)) * math.sqrt(variance)


def tables(n: int, worse: float, better: float) -> Iterator[tuple[int, int, float]]:
    """(b, c, probability) of every table that matters."""
    for b in range(int(n * worse + 8 * math.sqrt(n * worse)) + 2):
        for c in range(int(n * better + 8 * math.sqrt(n * better)) + 2):
            rest = n - b - c
            if rest >= 0:
                ways = math.lgamma(n + 1) - math.lgamma(b + 1) - math.lgamma(c + 1) - math.lgamma(rest + 1)
                log = b * math.log(worse) + c * math.log(better) + rest * math.log(1 - worse - better)
                yield b, c, math.exp(ways + log)


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
    """Multiplicative noise round 1."""
    if noise == "lognormal":
        return np.exp(rng.normal(0, 0.1, n))
    if noise == "spikes":
        return (1 + rng.normal(0, 0.02, n)) * np.where(rng.random(n) < 0.03, 3.0, 1.0)
    if noise == "normal":
        return 1 + rng.normal(0, 0.02, n)
    values = [0.0]
    for e in rng.normal(0, 0.02, n + 49):
        values.append(0.5 * values[-1] + e)
    return 1 + np.array(values[50:])


def held_too_often(share: float, repetitions: int, where: str) -> Iterator[str]:
    if share > HELD_LIMIT + 3 * math.sqrt(HELD_LIMIT * (1 - HELD_LIMIT) / repetitions):
        yield f"false HELD {share:.3f} at {where}"


def title(text: str, columns: str) -> None:
    names = columns.split("|")
    print(f"\n## {text}\n\n| {' | '.join(names)} |\n|{'---|' * len(names)}", flush=True)


def row(*cells: object) -> None:
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def percent(share: float) -> str:
    return f"{100 * share:.1f}"


if __name__ == "__main__":
    sys.exit(main())
