"""How often is quality called held though it was lost by exactly the margin, where items share their fate or are skewed?

Fresh seeds each time unless one is given; Markdown on stdout.  Exit 1 if a setting is above 5.5 % by more than 3 Monte Carlo
standard errors, or if nothing changed and ample items are not called held.

    python benchmarks/quality_held.py --repetitions 2000 > benchmarks/results/quality_held.md     (about 40 minutes on one core)
    python benchmarks/quality_held.py --quick                                                     (about 2 minutes)

Every experiment goes through `fireassay.stats.comparing.noninferiority.crossed` as a record's does: 5 launches that are all alike (what fixed
answers give), or 5 or 3 that differ.  Beside it stands what release 0.4 did: crossed random effects that take all items as independent.
The flips of independent items are not drawn: every table is summed up.
"""

from __future__ import annotations

import argparse
import itertools
import math
import secrets
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fireassay.stats.comparing.noninferiority import crossed, flips_lower, largest_change
from fireassay.stats.intervals.intervals import t_quantile

Array = NDArray[np.float64]
LIMIT = 0.055
SIZE = 10  # items of a cluster
FIRST = 400  # experiments, after which a row that is clearly below the limit ends
LAUNCHES = {"alike": 5, "differ": 5, "differ, 3": 3}  # how launches differ: how many there are


@dataclass(frozen=True)
class Setting:
    """One row: how differences [launches, items] are drawn, their true mean being -margin + gain, and the items' clusters."""

    words: str
    n: int
    margin: float
    draw: Callable[[np.random.Generator, float], tuple[Array, list[int | None] | None]]
    bounded: bool = True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=2000, help="experiments in each row")
    parser.add_argument("--quick", action="store_true", help="few rows of 200 experiments")
    parser.add_argument("--seed", type=int, help="repeat a run")
    parser.add_argument("--only", default="", help="only the parts whose title holds this word; their figures are those of a whole run")
    asked = parser.parse_args()
    seed = asked.seed if asked.seed is not None else secrets.randbits(32)
    repetitions = 200 if asked.quick else asked.repetitions
    print(
        f"Seed {seed}; rows end after {min(FIRST, repetitions)} experiments where at most 2 % are false, else after {repetitions} ", end=""
    )
    print(f"(standard error at 5 %: {percent(error(0.05, repetitions))} points).")
    broken: list[str] = []
    for title, settings in FAMILIES.items():
        if asked.only not in title:
            continue
        rows = [one for one in settings() if not asked.quick or one.n == 200]
        broken += table(title, rows, np.random.default_rng([seed, len(title)]), repetitions)
    if not asked.only:
        broken += summed_flips(quick=asked.quick)
        broken += ample(np.random.default_rng([seed, 1]), min(repetitions, 200))
    print("\n".join(["", "## Broken promises", "", *(f"* {line}" for line in broken or ["none"])]))
    return 1 if broken else 0


def table(title: str, settings: list[Setting], rng: np.random.Generator, repetitions: int) -> Iterator[str]:
    print(
        f"\n## {title}\n\n| setting | items | margin | experiments | false HELD % | release 0.4 % |\n|---|---|---|---|---|---|", flush=True
    )
    for one in settings:
        own, old, made = share(one, rng, repetitions, 0.0)
        print(f"| {one.words} | {one.n} | {one.margin:.3g} | {made} | {percent(own)} | {percent(old)} |", flush=True)
        if own > LIMIT + 3 * error(LIMIT, made):
            yield f"false HELD {percent(own)} %: {title}, {one.words}, {one.n} items"


def share(one: Setting, rng: np.random.Generator, repetitions: int, gain: float) -> tuple[float, float, int]:
    """Shares called held, by assay and by release 0.4, and of how many experiments."""
    own = old = 0
    for made in range(repetitions):
        if made == FIRST and own <= 0.02 * made:
            return own / made, old / made, made
        d, clusters = one.draw(rng, gain)
        most = 1.0 if one.bounded else largest_change(np.zeros_like(d), d, clusters)
        own += crossed(d, one.margin, largest_change=most, clusters=clusters).verdict == "HELD"
        old += independent_lower(d) > -one.margin
    return own / repetitions, old / repetitions, repetitions


def independent_lower(d: Array) -> float:
    """Release 0.4: t[k-1]^2 A + t[n-1]^2 (B - E), items independent; most differences 0: z^2/2 moved items added each way."""
    k, n = d.shape
    rows, columns = d.mean(axis=1), d.mean(axis=0)
    rest = float(np.sum((d - rows[:, None] - columns + d.mean()) ** 2)) / ((k - 1) * (n - 1))
    item, z, centre, size = float(columns.var(ddof=1)), t_quantile(0.95, math.inf), float(d.mean()), float(n)
    if float(np.mean(d == 0.0)) > 0.5:
        worst, extra = float(np.abs(columns).max()), z**2
        size = n + extra
        moved = centre * n / size
        item = ((n - 1) * item + n * (centre - moved) ** 2 + extra * (worst**2 + moved**2)) / (size - 1)
        centre = moved
    a, b, e = float(rows.var(ddof=1)) / k, item / size, rest / (k * size)
    t_k, t_n = t_quantile(0.95, k - 1), t_quantile(0.95, n - 1)
    return centre - math.sqrt(max(t_k**2 * a + t_n**2 * max(b - e, 0.0), t_k**2 * max(a - e, 0.0) + t_n**2 * b))


# ---- clusters --------------------------------------------------------------------------------------------------------


def clustered() -> Iterator[Setting]:
    """Right or wrong, and graded; a cluster's items share their fate all, or each with a probability of one half."""
    for n, fate, launches in itertools.product((50, 200, 1000, 2000), (1.0, 0.5), LAUNCHES):
        for what in ("flips", "graded", "lognormal losses"):
            yield cluster_setting(n, np.full(n // SIZE, SIZE), fate, what, launches)


def few_and_unequal() -> Iterator[Setting]:
    """Few clusters; sizes that differ 30 to 1; half of the items on their own."""
    sizes = {
        "5 clusters": lambda rng: np.full(5, 40),
        "10 clusters": lambda rng: np.full(10, 20),
        "20 clusters": lambda rng: np.full(20, 10),
        "unequal": lambda rng: np.maximum(1, np.round(rng.lognormal(1.5, 1.0, 40))).astype(int),
        "half alone": lambda rng: np.concatenate((np.full(10, 10), np.ones(100, dtype=int))),
    }
    for (words, of), fate, what in itertools.product(sizes.items(), (1.0, 0.5), ("flips", "graded", "lognormal losses")):
        yield cluster_setting(200, of, fate, what, "alike", words)


def cluster_setting(n: int, sizes: object, fate: float, what: str, launches: str, words: str = "") -> Setting:
    margin = {"flips": 0.05, "graded": 0.02, "lognormal losses": 0.05}[what]

    def draw(rng: np.random.Generator, gain: float) -> tuple[Array, list[int | None]]:
        own = sizes(rng) if callable(sizes) else np.asarray(sizes)
        member = np.repeat(np.arange(len(own)), own)

        def once() -> Array:
            shared, single = value(what, rng, len(own), margin - gain), value(what, rng, len(member), margin - gain)
            return np.where(rng.random(len(member)) < fate, shared[member], single)

        labels = [int(c) if own[c] > 1 else None for c in member]
        return over_launches(once, rng, launches, anew=what == "flips"), labels

    words = f"{words or f'{n // SIZE} clusters of {SIZE}'}, {'all' if fate == 1 else 'half'} shared, {what}, launches {launches}"
    return Setting(words, n, margin, draw)


def value(what: str, rng: np.random.Generator, count: int, loss: float) -> Array:
    """Differences of mean -loss, inside of -1..1."""
    if what == "flips":
        u, rate = rng.random(count), 0.15
        return np.where(u < (rate + loss) / 2, -1.0, np.where(u < rate, 1.0, 0.0))
    if what == "graded":
        return np.clip(rng.normal(-loss, 0.1, count), -1.0, 1.0)
    return -loss * np.minimum(rng.lognormal(-0.5, 1.0, count), 1.0 / loss if loss else math.inf)


def over_launches(once: Callable[[], Array], rng: np.random.Generator, launches: str, *, anew: bool = False) -> Array:
    """[launches, items]: all alike; or half of the items drawn anew in each launch; or a shift of each launch and noise of each item."""
    k, d = LAUNCHES[launches], once()
    every = np.tile(d, (k, 1))
    if launches == "alike":
        return every
    if anew:
        return np.where(rng.random(every.shape) < 0.5, every, np.array([once() for _ in range(k)]))
    spread = float(d.std()) / math.sqrt(len(d))
    return every + rng.normal(0, spread, (k, 1)) + rng.normal(0, float(d.std()), every.shape)


# ---- skewed losses ---------------------------------------------------------------------------------------------------

SKEWED: dict[str, tuple[Callable[[np.random.Generator, int], Array], float]] = {  # losses, and their mean
    "exponential": (lambda rng, n: rng.exponential(1.0, n), 1.0),
    "gamma, shape 0.2": (lambda rng, n: rng.gamma(0.2, 5.0, n), 1.0),
    "lognormal, sigma 1": (lambda rng, n: rng.lognormal(0.0, 1.0, n), math.exp(0.5)),
    "lognormal, sigma 1.5": (lambda rng, n: rng.lognormal(0.0, 1.5, n), math.exp(1.125)),
    "lognormal, sigma 2": (lambda rng, n: rng.lognormal(0.0, 2.0, n), math.exp(2.0)),
    "Pareto, index 3": (lambda rng, n: rng.pareto(3.0, n), 0.5),
}


def skewed() -> Iterator[Setting]:
    """Losses without a bound, and a few large ones inside of 0..1."""
    for n, launches in itertools.product((50, 100, 200, 500, 2000), LAUNCHES):
        if launches != "alike" and n not in (50, 200, 2000):
            continue
        for name, (losses, mean) in SKEWED.items():
            yield Setting(f"{name}, launches {launches}", n, 0.1 * mean, unbounded(losses, mean, n, launches), bounded=False)
        for rate, size in ((0.01, 1.0), (0.03, 1.0), (0.05, 0.4)):
            yield Setting(f"{percent(rate)} % lose {size:g}, launches {launches}", n, rate * size, few_large(rate, size, n, launches))


def unbounded(losses: Callable[[np.random.Generator, int], Array], mean: float, n: int, launches: str) -> object:
    def draw(rng: np.random.Generator, gain: float) -> tuple[Array, None]:
        # a gain for most, a loss for some: of mean -0.1 of the losses' mean
        return over_launches(lambda: 0.9 * mean + gain - losses(rng, n), rng, launches), None

    return draw


def few_large(rate: float, size: float, n: int, launches: str) -> object:
    def draw(rng: np.random.Generator, gain: float) -> tuple[Array, None]:
        def once() -> Array:
            return np.clip(-size * (rng.random(n) < rate) * (gain == 0.0) + rng.normal(0, 0.01, n), -1.0, 1.0)

        return over_launches(once, rng, launches), None

    return draw


def nearly_alike() -> Iterator[Setting]:
    """Launches that are alike but for an answer or two, as those of engines at temperature 0 are."""
    for n in (50, 200, 1000):

        def draw(rng: np.random.Generator, gain: float, n: int = n) -> tuple[Array, None]:
            every = np.tile(value("flips", rng, n, 0.05 - gain), (5, 1))
            for row in every:
                row[rng.integers(n)] = value("flips", rng, 1, 0.05 - gain)[0]
            return every, None

        yield Setting("independent flips, one answer anew in each launch", n, 0.05, draw)


FAMILIES = {
    "Clusters of 10 items": clustered,
    "Few clusters, unequal ones, and items on their own": few_and_unequal,
    "Skewed losses of independent items": skewed,
    "Launches that are nearly alike": nearly_alike,
}


# ---- what needs no drawing, and what must be held ---------------------------------------------------------------------


def summed_flips(*, quick: bool) -> Iterator[str]:
    """False HELD of independent right-or-wrong items, launches alike: the worst share of flips, every table summed up."""
    from scipy.stats import binom

    print("\n## Independent flips, every table summed up\n\n| items | margin | worst false HELD % | at flips % |\n|---|---|---|---|")
    for n, margin in itertools.product((50, 200) if quick else (50, 100, 200, 300, 500, 1000), (0.01, 0.02, 0.03, 0.05, 0.1)):
        held: dict[tuple[int, int], bool] = {}
        worst, at = 0.0, 0.0
        for rate in (r for r in (margin * x for x in (1, 1.05, 1.2, 1.5, 2, 3, 4, 7, 10)) if r <= 0.6):
            worse, better, total = (rate + margin) / 2, (rate - margin) / 2, 0.0
            for b in range(int(binom.ppf(1e-6, n, worse)), int(binom.ppf(1 - 1e-6, n, worse)) + 1):
                rest = binom.pmf(b, n, worse)
                for c in range(int(binom.ppf(1 - 1e-6, n - b, better / (1 - worse))) + 1):
                    if (b, c) not in held:
                        held[b, c] = (c - b) / n > -margin and flips_lower(b, c, n, 0.95) > -margin
                    total += held[b, c] * rest * binom.pmf(c, n - b, better / (1 - worse))
            worst, at = max((worst, at), (float(total), rate))
        print(f"| {n} | {margin:g} | {percent(worst)} | {percent(at)} |", flush=True)
        if worst > LIMIT + 0.0006:
            yield f"false HELD {percent(worst)} % of {n} independent items, margin {margin}"


def ample(rng: np.random.Generator, repetitions: int) -> Iterator[str]:
    """Nothing changed, and the items are many: held?"""
    print("\n## Nothing changed\n\n| setting | items | margin | HELD % | release 0.4 % |\n|---|---|---|---|---|")
    for one in unchanged():
        own, old, _ = share(one, rng, repetitions, one.margin)
        print(f"| {one.words} | {one.n} | {one.margin:g} | {percent(own)} | {percent(old)} |", flush=True)
        if own < 0.8:
            yield f"held in {percent(own)} % only: {one.words}, {one.n} items"


def unchanged() -> Iterator[Setting]:
    for (n, what), fate, launches in itertools.product(((5000, "graded"), (10000, "flips")), (1.0, 0.5), ("alike", "differ")):
        yield cluster_setting(n, np.full(n // SIZE, SIZE), fate, what, launches)
    yield from (one for one in skewed() if one.n == 2000 and one.bounded)

    def normal(rng: np.random.Generator, gain: float) -> tuple[Array, None]:
        return over_launches(lambda: np.clip(rng.normal(gain - 0.03, 0.1, 500), -1.0, 1.0), rng, "differ"), None

    yield Setting("normal, launches differ", 500, 0.03, normal)


def error(share: float, repetitions: int) -> float:
    return math.sqrt(share * (1 - share) / repetitions)


def percent(share: float) -> str:
    return f"{100 * share:.2f}".rstrip("0").rstrip(".")


if __name__ == "__main__":
    sys.exit(main())
