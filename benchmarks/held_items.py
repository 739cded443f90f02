"""How often is an evaluation's quality called held though it was lost by exactly the margin, and is a planned size enough?

Every experiment goes through `fireassay.kinds.evaluation.held.decided`, as a record's items do: right or wrong, graded, in clusters, sampled
answers averaged first, weighted, BLEU-like ratios and Matthews' correlation.  Power: nothing changed, and as many items as
`fireassay.stats.comparing.item_power` plans.  Markdown on stdout; exit 1 if a promise is off by more than 3 Monte Carlo standard errors.

    python benchmarks/held_items.py > benchmarks/results/held_items.md     (about 15 minutes on one core)
    python benchmarks/held_items.py --quick                                (about a minute)

Promise: at most 5.5 % false HELD; at least 80 % HELD at the planned size.
"""

from __future__ import annotations

import argparse
import math
import secrets
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fireassay.estimates.estimate import Absent
from fireassay.frames.evaluation.item_scores import ItemScores, Paired
from fireassay.kinds.evaluation.held import Rule, decided
from fireassay.quality.scoring.text_metric import Options, Prepared, TextMetric
from fireassay.stats.comparing.item_power import Grouping, item_power

Array = NDArray[np.float64]
LIMIT, POWER, CONFIDENCE = 0.055, 0.8, 0.95
SIZES = (50, 164, 500, 2000)
LARGE = 1_000_000  # items of which a truth is computed that has no closed form
CLUSTER = 10
MANY = 1000  # items, above which experiments of corpus scores are few


@dataclass(frozen=True)
class Drawn:
    """The rows of both sides ([items, statistics]) of one experiment."""

    reference: Array
    candidate: Array
    weights: Array | None = None
    labels: tuple[str, ...] | None = None
    repetitions: int = 1


@dataclass(frozen=True)
class Setting:
    """How items are drawn whose candidate lost `loss` of its score on average; the margin is the loss at the boundary."""

    words: str
    margin: float
    draw: Callable[[np.random.Generator, int, float], Drawn]
    metric: TextMetric


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--experiments", type=int, default=2000, help="in each row; a tenth where 2,000 items are left out one by one")
    parser.add_argument("--quick", action="store_true", help="200 experiments of 50 and 164 items")
    parser.add_argument("--only", default="", help="only the settings whose words hold this one")
    parser.add_argument("--seed", type=int, help="repeat a run")
    asked = parser.parse_args()
    seed = asked.seed if asked.seed is not None else secrets.randbits(32)
    experiments, sizes = (200, SIZES[:2]) if asked.quick else (asked.experiments, SIZES)
    settings = [setting for setting in SETTINGS if asked.only in setting.words]
    print(f"Seed {seed}; {experiments} experiments of each; one-sided confidence {percent(CONFIDENCE)} %.")
    broken = [*at_the_margin(settings, sizes, experiments, seed), *at_the_plan(settings, experiments, seed)]
    without_a_loss(settings, sizes, experiments, seed)
    print("\n".join(["", "## Broken promises", "", *(f"* {line}" for line in broken or ["none"])]))
    return 1 if broken else 0


def at_the_margin(settings: list[Setting], sizes: tuple[int, ...], experiments: int, seed: int) -> Iterator[str]:
    """Print how often a loss of the margin is called held; yield what is broken."""
    print("\n## Lost by exactly the margin\n\n| items are | margin | " + " | ".join(f"{n} items: HELD %" for n in sizes), "|")
    print("|---|---|" + "---|" * len(sizes), flush=True)
    for setting in settings:
        made = [experiments // 10 if setting.metric.corpus and n > MANY else experiments for n in sizes]
        shares = [share(setting, n, setting.margin, count, seed) for n, count in zip(sizes, made, strict=True)]
        words = [
            percent(found) if count == experiments else f"{percent(found)} of {count}" for found, count in zip(shares, made, strict=True)
        ]
        print(f"| {setting.words} | {setting.margin:.3g} | {' | '.join(words)} |", flush=True)
        for n, found, count in zip(sizes, shares, made, strict=True):
            if found > LIMIT + 3.0 * error(LIMIT, count):
                yield f"false HELD {percent(found)} %: {setting.words}, {n} items"


def share(setting: Setting, n: int, loss: float, experiments: int, seed: int) -> float:
    """The share of experiments called held."""
    rng = np.random.default_rng([seed, n, len(setting.words), round(1000 * loss)])
    known: dict[tuple[int, int], bool] = {}
    held = 0
    for _ in range(experiments):
        drawn = setting.draw(rng, n, loss)
        rule = Rule(margin=setting.margin, confidence=CONFIDENCE)
        if flipping(setting):
            table = int((drawn.candidate < drawn.reference).sum()), int((drawn.candidate > drawn.reference).sum())
            if table not in known:
                known[table] = is_held(setting, drawn, rule)
            held += known[table]
        else:
            held += is_held(setting, drawn, rule)
    return held / experiments


def at_the_plan(settings: list[Setting], experiments: int, seed: int) -> Iterator[str]:
    """Print how often nothing lost is called held at the planned size; yield what is broken."""
    print("\n## Nothing lost, as many items as planned\n")
    print("| items are | margin | variance | design effect | planned items | HELD % |\n|---|---|---|---|---|---|", flush=True)
    for setting in settings:
        if setting.metric.corpus or not math.isfinite(setting.metric.scale[1]):
            continue  # plans are for means of scores from 0 to 1
        variance, grouping = expected(setting)
        plan = item_power(1000, setting.margin, variance, CONFIDENCE, None if flipping(setting) else grouping)
        found = share(setting, plan.needed, 0.0, experiments, seed)
        print(
            f"| {setting.words} | {setting.margin:g} | {variance:.4f} | {grouping.effect:.2f} | {plan.needed} | {percent(found)} |",
            flush=True,
        )
        if found < POWER - 3.0 * error(POWER, experiments):
            yield f"power {percent(found)} %: {setting.words}, {plan.needed} items"


def without_a_loss(settings: list[Setting], sizes: tuple[int, ...], experiments: int, seed: int) -> None:
    """Print how often nothing lost is called held, for scores that are no mean and so have no plan."""
    print("\n## Nothing lost, scores that are no mean\n\n| items are | margin | " + " | ".join(f"{n} items: HELD %" for n in sizes), "|")
    print("|---|---|" + "---|" * len(sizes), flush=True)
    for setting in settings:
        if setting.metric.corpus:
            found = [percent(share(setting, n, 0.0, experiments // 10, seed)) for n in sizes]
            print(f"| {setting.words} | {setting.margin:.3g} | {' | '.join(found)} |", flush=True)


def expected(setting: Setting) -> tuple[float, Grouping]:
    """Variance of an item's change, and how items belong together, from very many items."""
    drawn = setting.draw(np.random.default_rng(2), LARGE, 0.0)
    d = (drawn.candidate - drawn.reference)[:, 0]
    variance = float(d.var())
    if drawn.weights is not None:
        mean, few = float(drawn.weights.mean()), drawn.weights[:1000]
        return variance, Grouping(uneven=float((drawn.weights**2).mean()) / mean**2, largest=float(few.max()) / mean)
    if drawn.labels is None:
        return variance, Grouping()
    between = float(d.reshape(-1, CLUSTER).mean(axis=1).var())
    correlation = (between * CLUSTER / variance - 1.0) / (CLUSTER - 1)
    return variance, Grouping(size=CLUSTER, largest=CLUSTER, correlation=correlation)


def flipping(setting: Setting) -> bool:
    """Whether Tango's test decides: few tables of flips, each decided once."""
    return setting.words.startswith("right or wrong, independent")


def is_held(setting: Setting, drawn: Drawn, rule: Rule) -> bool:
    sides = [side_of(setting.metric, rows, drawn) for rows in (drawn.reference, drawn.candidate)]
    changes = setting.metric.item_scores(drawn.candidate) - setting.metric.item_scores(drawn.reference)
    found = decided(Paired(reference=sides[0], candidate=sides[1], left=0), changes, rule)
    return not isinstance(found, Absent) and found.verdict == "HELD"


def side_of(metric: TextMetric, rows: Array, drawn: Drawn) -> ItemScores:
    n = len(rows)
    return ItemScores(
        metric=metric,
        items=("",) * n,
        rows=rows,
        weights=np.ones(n) if drawn.weights is None else drawn.weights,
        clusters=drawn.labels or (None,) * n,
        repetitions=drawn.repetitions,
        launches=1,
        unscored=0,
    )


def error(share: float, experiments: int) -> float:
    return math.sqrt(share * (1.0 - share) / experiments)


def percent(share: float) -> str:
    return f"{100.0 * share:.1f}"


# ---- what is drawn -----------------------------------------------------------------------------------------------------


def flips(rate: float) -> Callable[[np.random.Generator, int, float], Drawn]:
    """Right or wrong; a share `rate` changes."""

    def draw(rng: np.random.Generator, n: int, loss: float) -> Drawn:
        return of_changes(rng, changed(rng, n, rate, loss))

    return draw


def changed(rng: np.random.Generator, n: int, rate: float, loss: float | Array) -> Array:
    u = rng.random(n)
    return np.where(u < (rate + loss) / 2.0, -1.0, np.where(u < rate, 1.0, 0.0))


def of_changes(rng: np.random.Generator, d: Array, **more: object) -> Drawn:
    """Scores of 0 and 1 which change so."""
    before = np.where(d == 0.0, rng.random(len(d)) < 0.7, d < 0.0).astype(np.float64)
    return Drawn(before[:, None], (before + d)[:, None], **more)  # type: ignore[arg-type]


def graded(rng: np.random.Generator, n: int, loss: float) -> Drawn:
    """Beta-like scores, most near 1: a third of the items change, and some lose half of their score."""
    shared, moved = rng.beta(4.0, 1.0, n), rng.random(n) < 0.3
    before, after = (np.clip(shared + moved * rng.normal(0.0, 0.1, n), 0.0, 1.0) for _ in range(2))
    after *= 1.0 - 0.5 * (rng.random(n) < loss / (0.5 * MEAN_GRADED))
    return Drawn(before[:, None], after[:, None])


def rare_losses(rng: np.random.Generator, n: int, loss: float) -> Drawn:
    """Skewed: a few items lose nearly everything, all others gain or lose next to nothing."""
    shared = rng.uniform(0.8, 1.0, n)
    before, after = (shared * rng.uniform(0.98, 1.0, n) for _ in range(2))
    after *= rng.random(n) >= loss / (0.9 * 0.99)
    return Drawn(before[:, None], after[:, None])


def unbounded(rng: np.random.Generator, n: int, loss: float) -> Drawn:
    """A gain for most and a large loss for some; without a loss the change is symmetric."""
    before, moved = rng.normal(0.0, 1.0, n), rng.lognormal(0.0, 1.0, n)
    change = math.exp(0.5) - loss - moved if loss else 0.2 * moved * rng.choice([-1.0, 1.0], n)
    return Drawn(before[:, None], (before + change)[:, None])


def passages(rng: np.random.Generator, n: int, loss: float) -> Drawn:
    """Ten items of a passage, as in quality.md 9.2: its own shift w ~ N(0, .04), P(-1) = .06 + loss/2 + w, P(+1) = .06 - loss/2 - w."""
    shift = np.repeat(np.clip(rng.normal(0.0, 0.04, -(-n // CLUSTER)), loss / 2.0 - 0.055, 0.055 - loss / 2.0), CLUSTER)[:n]
    u = rng.random(n)
    worse, better = 0.06 + loss / 2.0 + shift, 0.06 - loss / 2.0 - shift
    d = np.where(u < worse, -1.0, np.where(u < worse + better, 1.0, 0.0))
    return of_changes(rng, d, labels=tuple(str(index // CLUSTER) for index in range(n)))


def fates(rng: np.random.Generator, n: int, loss: float) -> Drawn:
    """Ten items of a passage, of which half share one fate."""
    shared = np.repeat(changed(rng, -(-n // CLUSTER), 0.1, loss), CLUSTER)[:n]
    d = np.where(rng.random(n) < 0.5, shared, changed(rng, n, 0.1, loss))
    return of_changes(rng, d, labels=tuple(str(index // CLUSTER) for index in range(n)))


def sampled(answers: int) -> Callable[[np.random.Generator, int, float], Drawn]:
    """Answers sampled anew on both sides: an item is right with its own probability, U-shaped over items."""

    def draw(rng: np.random.Generator, n: int, loss: float) -> Drawn:
        p = rng.beta(1.2, 0.4, n)  # mean 0.75
        before = rng.binomial(answers, p) / answers
        after = rng.binomial(answers, p * (1.0 - loss / 0.75)) / answers
        return Drawn(before[:, None], after[:, None], repetitions=answers)

    return draw


def weighted(rate: float) -> Callable[[np.random.Generator, int, float], Drawn]:
    """Weights of 1, 2 and 4, which have nothing to do with the flips."""

    def draw(rng: np.random.Generator, n: int, loss: float) -> Drawn:
        return of_changes(rng, changed(rng, n, rate, loss), weights=rng.choice([1.0, 2.0, 4.0], n))

    return draw


def translated(rng: np.random.Generator, n: int, loss: float) -> Drawn:
    """Counts of two systems' translations: lengths, n-grams in common, n-grams; the candidate finds fewer n-grams, by `loss`."""
    length = rng.poisson(np.exp(rng.normal(2.7, 0.5, n))) + 4
    hard, sides = rng.beta(3.0, 2.0, n), []
    for lost in (0.0, 0.02 if loss else 0.0):
        right = np.clip(hard - lost + rng.normal(scale=0.1, size=n), 0.02, 0.98)
        every = [np.maximum(length - order, 0) for order in range(4)]
        common = [rng.binomial(count, right ** (order + 1)) for order, count in enumerate(every)]
        sides.append(np.stack([length, np.maximum(1, np.round(length * rng.lognormal(0.05, 0.15, n))), *common, *every], axis=1) * 1.0)
    return Drawn(sides[0], sides[1])


def labelled(positive: float, shared: float) -> Callable[[np.random.Generator, int, float], Drawn]:
    """Two classifiers whose answers are the same for a share `shared` of items: tp, fp, fn, tn.  The candidate errs in 4 points more."""

    def draw(rng: np.random.Generator, n: int, loss: float) -> Drawn:
        label, fate, own = rng.random(n) < positive, rng.random(n), rng.random(n) < shared
        made = []
        for wrong_share in (0.15, 0.19 if loss else 0.15):
            said = label ^ (np.where(own, fate, rng.random(n)) < wrong_share)
            made.append(np.stack([label & said, ~label & said, label & ~said, ~label & ~said], axis=1) * 1.0)
        return Drawn(made[0], made[1])

    return draw


def ratio(sums: Array) -> Array:
    """BLEU from 0 to 1, unsmoothed but for half a match."""
    precision = np.log(np.maximum(sums[..., 2:6], 0.5) / np.maximum(sums[..., 6:10], 0.5)).mean(axis=-1)
    return np.asarray(np.exp(precision + np.minimum(0.0, 1.0 - sums[..., 1] / np.maximum(sums[..., 0], 0.5))))


def matthews(sums: Array) -> Array:
    tp, fp, fn, tn = np.moveaxis(sums, -1, 0)
    product = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return np.where(product > 0.0, (tp * tn - fp * fn) / np.sqrt(np.where(product > 0.0, product, 1.0)), np.nan)


def never(_: Options) -> Prepared:
    raise ValueError("statistics are drawn, not computed")


def wordless(rows: Array) -> Array:
    """Nothing in common."""
    return np.concatenate([rows[:, :2], np.zeros((len(rows), 4)), rows[:, 6:]], axis=1)


def misjudged(rows: Array) -> Array:
    """The other class."""
    tp, fp, fn, tn = rows.T
    return np.stack([0.0 * tp, fp + tn, tp + fn, 0.0 * tn], axis=1)


def f1(sums: Array) -> Array:
    tp, fp, fn, _ = np.moveaxis(sums, -1, 0)
    with np.errstate(invalid="ignore"):
        return np.asarray(2.0 * tp / (2.0 * tp + fp + fn))


def corpus(
    words: str, draw: Callable[[np.random.Generator, int, float], Drawn], fold: Callable[[Array], Array], worst: Callable[[Array], Array]
) -> Setting:
    """The margin is the loss of very many items."""
    many = draw(np.random.default_rng(1), LARGE, 1.0)
    margin = float(fold(many.reference.sum(axis=0)) - fold(many.candidate.sum(axis=0)))
    names = tuple(map(str, range(many.reference.shape[1])))
    metric = TextMetric(name="", title="", better="higher", scale=(-1.0, 1.0), prepare=never, statistics=names, of_totals=fold, worst=worst)
    return Setting(words, margin, draw, metric)


MEAN = TextMetric(name="", title="", better="higher", scale=(0.0, 1.0), prepare=never)
MEAN_GRADED = 1.0  # while the next line draws, without a loss
MEAN_GRADED = float(graded(np.random.default_rng(1), LARGE, 0.0).reference.mean())


def mean(words: str, margin: float, draw: Callable[[np.random.Generator, int, float], Drawn]) -> Setting:
    return Setting(words, margin, draw, MEAN)


SETTINGS = (
    mean("right or wrong, independent, 5 % change", 0.02, flips(0.05)),
    mean("right or wrong, independent, 15 % change", 0.05, flips(0.15)),
    mean("right or wrong, 10 to a passage, w ~ N(0, .04)", 0.05, passages),
    mean("right or wrong, 10 to a passage, half share one fate", 0.05, fates),
    mean("graded, a third change", 0.02, graded),
    mean("graded, few large losses", 0.02, rare_losses),
    Setting("of an unknown scale, lognormal losses, sigma 1", 0.1, unbounded, replace(MEAN, scale=(-math.inf, math.inf))),
    *(mean(f"sampled, mean of {count}", 0.05, sampled(count)) for count in (1, 3, 5)),
    mean("right or wrong, weighted, 5 % change", 0.02, weighted(0.05)),
    mean("right or wrong, weighted, 15 % change", 0.05, weighted(0.15)),
    corpus("BLEU-like ratio of sums", translated, ratio, wordless),
    corpus("Matthews, half positive, answers half shared", labelled(0.5, 0.5), matthews, misjudged),
    corpus("Matthews, 30 % positive, 95 % of answers shared", labelled(0.3, 0.95), matthews, misjudged),
    corpus("Matthews, 10 % positive, 99 % of answers shared", labelled(0.1, 0.99), matthews, misjudged),
    corpus("F1, 10 % positive, 95 % of answers shared", labelled(0.1, 0.95), f1, misjudged),
)

if __name__ == "__main__":
    sys.exit(main())
