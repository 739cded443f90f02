"""Do comparisons and adaptive launches keep their promises on data whose truth is known?

Fixed seeds, so the same figures on every machine; Markdown on stdout.  Exit 1 if a promise is broken.

    python benchmarks/comparison.py > comparison.md          ten minutes; --scale 0.1 for a glance, --only d for a part

Promises, each with 3 Monte Carlo standard errors of allowance: (a) 95 % intervals of two-level data cover 93.5 to 96.5 %;
(b) two equal sides are called different in at most 5 % of comparisons, blocked ones under a drift of 2 % too; (c) a repetition
finds the printed minimum detectable effect in at least 80 %; (d) the interval at which adaptive launches stop covers at least
93.5 %; (e) a drift alone does not make a blocked comparison speak; (f) a true loss of the margin is called HELD in at most
5.5 %, with seeds that no setting was tuned on, and 10 identical items are not HELD; (g) two equal records of which one or both
stopped when they were narrow are called different in at most 5 %.  Rivals stand beside them.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from collections.abc import Callable, Iterator

import coverage as simulated  # benchmarks/coverage.py
import numpy as np
from coverage import Array, percent, row, title
from scipy.special import stdtr

from fireassay.stats.comparing.comparison import Difference, compare_paired, compare_welch, decide
from fireassay.stats.comparing.multiplicity import analysis_confidence, comparison_confidence, next_analysis
from fireassay.stats.comparing.noninferiority import crossed
from fireassay.stats.intervals.intervals import Interval, log_t, mean_t, t_quantile

LEVEL = 0.05
ICCS = (0.0, 0.1, 0.5)
TRIALS = 20  # in each launch
DRIFT = 0.02


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the simulated experiments")
    parser.add_argument("--only", default="abcdefg", help="letters of the parts to run")
    arguments = parser.parse_args()
    parts = dict(zip("abcdefg", (intervals, equal_sides, power, looks, drift, held, stopped_sides), strict=True))
    broken = [problem for letter in arguments.only for problem in parts[letter](arguments.scale)]
    print("\n".join(["", "## Broken promises", "", *(f"* {line}" for line in broken or ["none"])]))
    return 1 if broken else 0


def intervals(scale: float) -> Iterator[str]:
    """(a) Student t on launch means (normal) or on logs of launch medians (lognormal .3); 50 trials in each launch."""
    title(
        "(a) Coverage of 95 % intervals of two-level data",
        "noise|k|ICC|t on launches %|t on pooled trials %|percentile bootstrap of launches %",
    )
    n = max(100, int(5000 * scale))
    for noise, k, icc in itertools.product(("normal", "lognormal"), (5, 10), ICCS):
        rng = np.random.default_rng([1, noise == "normal", k, int(10 * icc)])
        values = two_level(rng, (n, k, 50), icc)
        launches = values.mean(axis=2) if noise == "normal" else np.median(0.3 * values, axis=2)
        own = [inside(mean_t(x, 0.95), 0.0) if noise == "normal" else inside(log_t(np.exp(x), 0.95), 1.0) for x in launches]
        rivals = (pooled_covers(values.reshape(n, -1)), bootstrap_covers(rng, launches))
        row(noise, k, icc, percent(float(np.mean(own))), *map(percent, rivals))
        if abs(np.mean(own) - 0.95) > 0.015 + allowance(0.95, n):
            yield f"(a) covers {np.mean(own):.3f} at {noise}, k={k}, ICC={icc}"


def equal_sides(scale: float) -> Iterator[str]:
    """(b) Any certain change counts as false (smallest effect 0); "shown" is the rule with its smallest effect of 1 %."""
    title(
        "(b) Equal sides called higher or lower", "design|k|ICC|drift|certain %|shown (above 1 %) %|t on pooled trials %|pooled, analytic %"
    )
    n = max(100, int(2000 * scale))
    for blocked, k, icc in itertools.product((True, False), (3, 5, 10, 20), ICCS):
        rng = np.random.default_rng([2, blocked, k, int(10 * icc)])
        values = 0.05 * two_level(rng, (n, 2, k, TRIALS), icc)
        values += np.log1p(DRIFT * positions(rng, n, k))[..., np.newaxis] if blocked else 0.0
        medians = np.exp(np.median(values, axis=3))
        found = [(compare_paired if blocked else compare_welch)(a, b, smallest_effect=0.0) for a, b in medians]
        certain = np.array([decide(d, better="lower", smallest_effect=0.0).change != "neither" for d in found])
        shown = certain & np.array([abs(math.log(d.ratio)) > math.log1p(0.01) for d in found])
        pooled = percent(1.0 - equal_pooled(values))
        row(
            "blocks" if blocked else "Welch",
            k,
            icc,
            f"{100 * DRIFT:.0f} %" if blocked else "none",
            percent(certain.mean()),
            percent(shown.mean()),
            pooled,
            percent(pooled_rate(k, TRIALS, icc)),
        )
        if certain.mean() > LEVEL + allowance(LEVEL, n):
            yield f"(b) {certain.mean():.3f} false at blocked={blocked}, k={k}, ICC={icc}"
    rates = " / ".join(percent(pooled_rate(20, 3, icc)) for icc in (0.0, 0.25, 0.5, 0.75, 1.0))
    print(f"\npyperf's 20 processes of 3 values, pooled, ICC 0 / .25 / .5 / .75 / 1: {rates} % false (analytic).")


def power(scale: float) -> Iterator[str]:
    """(c) A pilot prints its effect; a repetition with that effect as the truth should find it in 80 %."""
    title(
        "(c) Power at the printed minimum detectable effect",
        "design|k|cv of a launch|found %|found at the textbook's effect %|median effect printed %|textbook's %",
    )
    n = max(100, int(1000 * scale))
    for design, k, cv in itertools.product(tuple(DESIGNS), (3, 5, 10), (0.002, 0.01, 0.05)):
        rng = np.random.default_rng([3, list(DESIGNS).index(design), k, int(1000 * cv)])
        make, found, textbook, printed = DESIGNS[design], [], [], []
        for _ in range(n):
            pilot = make(rng, k, cv, 0.0)
            usual = math.log1p(textbook_effect(pilot.cv, k)) if pilot.cv > 0 else 0.0
            printed.append((pilot.minimum_detectable_effect, math.expm1(usual)))
            found.append(says_higher(make(rng, k, cv, math.log1p(pilot.minimum_detectable_effect))))
            textbook.append(says_higher(make(rng, k, cv, usual)))
        own = float(np.mean(found))
        row(design, k, f"{100 * cv:g} %", percent(own), percent(float(np.mean(textbook))), *medians_of(printed))
        if own < 0.8 - allowance(0.8, n):
            yield f"(c) power {own:.3f} for {design}, k={k}, cv={cv}"


def looks(scale: float) -> Iterator[str]:
    """(d) Launches until all intervals are within 2 %, at most 200; the same runs under three rules for the looks."""
    title(
        "(d) Coverage of the interval at which adaptive launches stop (precision 2 %, at most 200 launches)",
        "launch values|intervals|cv / precision|alpha/2 at every look: covers %|mean launches|"
        "alpha, then alpha/2: covers %|mean launches|alpha always: covers %|mean launches",
    )
    n = max(200, int(4000 * scale))
    grid = itertools.product(SHAPES, ((1, 0.0), (3, 0.0), (3, 0.8)), (0.2, 0.5, 0.8, 1.0, 1.3, 1.6, 2.0, 3.0, 5.0, 10.0))
    for shape, (number, shared), ratio in grid:
        rng = np.random.default_rng([4, list(SHAPES).index(shape), number, int(10 * shared), int(10 * ratio)])
        logs = SHAPES[shape](rng, (n, number, 200), shared, ratio * 0.02)
        results = [stopped(logs, rule) for rule in RULES]
        words = "1" if number == 1 else f"{number}, correlation {shared:g}"
        row(shape, words, ratio, *(cell for covers, launches in results for cell in (percent(covers), f"{launches:.0f}")))
        if results[0][0] < 0.935 - allowance(0.95, n):
            yield f"(d) covers {results[0][0]:.3f} at {shape}, {words}, cv/precision={ratio}"


def drift(scale: float) -> Iterator[str]:
    """(e) Ten launches a side, a ramp of 2 % over the twenty, launch noise of 0.2 %; no true difference."""
    title(
        "(e) A drift of 2 % over ten and ten launches, no true difference",
        "order|analysis|shift without noise %|called different (any certain change) %|called different by more than 1 % %",
    )
    n, ramp = max(100, int(2000 * scale)), 1 + DRIFT * np.arange(20) / 19
    orders = {"A...AB...B": "A" * 10 + "B" * 10, "ABAB": "AB" * 10, "ABBA": "ABBA" * 5, "random in blocks": ""}
    for index, (name, order) in enumerate(orders.items()):
        rng = np.random.default_rng([5, index])
        compare = compare_welch if index == 0 else compare_paired
        certain = shown = 0
        for _ in range(n):
            side = np.array(list(order or "".join(rng.choice(["AB", "BA"], 10))))
            seconds = ramp * np.exp(rng.normal(0, 0.002, 20))
            d = compare(seconds[side == "A"], seconds[side == "B"], smallest_effect=0.0)
            certain += decide(d, better="lower", smallest_effect=0.0).change != "neither"
            shown += d.p_value < LEVEL and abs(math.log(d.ratio)) > math.log1p(0.01)
        exact = f"{100 * (ramp[side == 'B'].mean() - ramp[side == 'A'].mean()):.4f}" if order else "0 on average"
        row(name, "Welch" if index == 0 else "blocks", exact, percent(certain / n), percent(shown / n))
        if name in ("ABBA", "random in blocks") and certain / n > LEVEL + allowance(LEVEL, n):
            yield f"(e) {name} is called different in {certain / n:.3f}"


def held(scale: float) -> Iterator[str]:
    """(f) The grid of coverage.py, with seeds of its own; what comes out above 5.5 % is simulated again, ten times as long."""
    title("(f) False HELD at the margin, seeds of no setting's tuning", "scores|k|settings|mean %|largest %|at")
    n = max(50, int(600 * scale))
    for name, settings in (("flips", simulated.flip_settings()), ("graded", simulated.graded_settings())):
        shares: dict[int, list[tuple[float, str]]] = {}
        for setting in settings:
            share, runs = share_held(setting, 6, n), n
            if share > simulated.HELD_LIMIT:  # the largest of many shares lies above its truth
                share, runs = share_held(setting, 7, 10 * n), 10 * n
            shares.setdefault(setting.k, []).append((share, setting.name))
            yield from simulated.held_too_often(share, runs, f"(f) {setting.name}")
        for k, found in shares.items():
            worst, where = max(found)
            row(name, k, len(found), percent(float(np.mean([share for share, _ in found]))), percent(worst), where)
    if crossed(np.zeros((5, 10)), 0.01).verdict == "HELD":
        yield "(f) 10 identical items are HELD at one point"


def stopped_sides(scale: float) -> Iterator[str]:
    """(g) Launches until the interval is within 2 %, at most 200; Welch's t on logs of two records made apart."""
    title(
        "(g) Equal records that stopped when they were narrow, called different",
        "cv / precision|5 launches against adaptive: 95 % t %|at the confidence of a comparison %|"
        "both adaptive: 95 % t %|at 97.5 % %|at the confidence of a comparison %",
    )
    n = max(400, int(20_000 * scale))
    for ratio in (0.5, 0.8, 1.0, 1.3, 1.6, 2.0, 3.0, 5.0):
        rng = np.random.default_rng([8, int(10 * ratio)])
        a, b = (ratio * 0.02 * rng.normal(size=(2, n, 200))).astype(np.float64)
        fixed = (np.full(n, 5.0), a[:, :5].mean(axis=1), a[:, :5].var(axis=1, ddof=1))
        one, two = (welch_p(side, summary(b)) for side in (fixed, summary(a)))
        rates = [
            *(float(np.mean(one < 1 - confidence)) for confidence in (0.95, comparison_confidence(0.95, 1))),
            *(float(np.mean(two < 1 - confidence)) for confidence in (0.95, 0.975, comparison_confidence(0.95, 2))),
        ]
        row(ratio, *map(percent, rates))
        for name, rate in (("one adaptive side", rates[1]), ("two adaptive sides", rates[4])):
            if rate > LEVEL + allowance(LEVEL, n):
                yield f"(g) {rate:.3f} false with {name}, cv/precision={ratio}"


# ------------------------------------------------------------------------------------------------------------ the data


def two_level(rng: np.random.Generator, shape: tuple[int, ...], icc: float) -> Array:
    """[..., launches, trials] with variance 1, of which the launches share `icc`; truth 0."""
    return math.sqrt(icc) * rng.normal(size=(*shape[:-1], 1)) + math.sqrt(1 - icc) * rng.normal(size=shape)


def positions(rng: np.random.Generator, n: int, k: int) -> Array:
    """[n, 2, k]: when each launch ran, 0..1, in randomised blocks of two."""
    first = rng.integers(0, 2, (n, 1, k))
    order: Array = np.concatenate([first, 1 - first], axis=1) + 2.0 * np.arange(k)
    return order / (2 * k - 1)


def paired(rng: np.random.Generator, k: int, cv: float, effect: float) -> Difference:
    """Blocks differ by three times as much as the launches inside one."""
    block = rng.normal(0, 3 * cv, k)
    return compare_paired(np.exp(block + rng.normal(0, cv, k)), np.exp(block + effect + rng.normal(0, cv, k)))


def welch(rng: np.random.Generator, k: int, cv: float, effect: float) -> Difference:
    return compare_welch(np.exp(rng.normal(0, cv, k)), np.exp(effect + rng.normal(0, cv, k)))


def unequal(rng: np.random.Generator, k: int, cv: float, effect: float) -> Difference:
    """Twice as many launches on one side, which vary half as much."""
    return compare_welch(np.exp(rng.normal(0, cv / 2, 2 * k)), np.exp(effect + rng.normal(0, cv, k)))


def noisier(rng: np.random.Generator, k: int, cv: float, effect: float) -> Difference:
    """Equally many launches, which vary three times as much on one side."""
    return compare_welch(np.exp(rng.normal(0, cv, k)), np.exp(effect + rng.normal(0, cv / 3, k)))


DESIGNS: dict[str, Callable[[np.random.Generator, int, float, float], Difference]] = {
    "blocks": paired,
    "Welch": welch,
    "Welch, 2k : k": unequal,
    "Welch, noise 3 : 1": noisier,
}


def normal_logs(rng: np.random.Generator, shape: tuple[int, ...], shared: float, cv: float) -> Array:
    return cv * correlated(rng, shape, shared)


def normal_values(rng: np.random.Generator, shape: tuple[int, ...], shared: float, cv: float) -> Array:
    """The values themselves are normal, centred so that the mean logarithm is 0 to second order."""
    values = 1 + cv * correlated(rng, shape, shared)
    return np.log(np.maximum(values, 0.05)) + cv**2 / 2 + 3 * cv**4 / 4


def skewed_logs(rng: np.random.Generator, shape: tuple[int, ...], shared: float, cv: float) -> Array:
    """Even the logarithms are lognormal (.3): skewness 0.95."""
    s = 0.3
    shape_of = np.exp(s * correlated(rng, shape, shared))
    return cv * (shape_of - math.exp(s * s / 2)) / math.sqrt((math.exp(s * s) - 1) * math.exp(s * s))


def trial_medians(rng: np.random.Generator, shape: tuple[int, ...], shared: float, cv: float) -> Array:
    """Medians of 9 trials with ICC .5, scaled to this spread between launches."""
    runs, _, k = shape
    common = math.sqrt(shared) * rng.normal(size=(runs, 1, k)) if shared else 0.0
    launch = math.sqrt(0.5) * (common + math.sqrt(1 - shared) * rng.normal(size=shape))
    medians = launch + math.sqrt(0.5) * np.median(rng.normal(size=(9, *shape)).astype(np.float32), axis=0)
    return cv * medians / math.sqrt(0.5 + 0.5 * 0.1661)  # variance of the median of 9 normals: 0.1661


def correlated(rng: np.random.Generator, shape: tuple[int, ...], shared: float) -> Array:
    """[runs, intervals, launches] of standard normals; the intervals of a launch share this part of their variance."""
    runs, _, k = shape
    own = rng.normal(size=shape)
    return math.sqrt(shared) * rng.normal(size=(runs, 1, k)) + math.sqrt(1 - shared) * own if shared else own


SHAPES: dict[str, Callable[[np.random.Generator, tuple[int, ...], float, float], Array]] = {
    "lognormal": normal_logs,
    "normal": normal_values,
    "medians of 9 trials, ICC .5": trial_medians,
    "skewed logs": skewed_logs,
}


# ----------------------------------------------------------------------------------------------------- rules and rivals


def stopped(logs: Array, confidence: Callable[[int], float], precision: float = 0.02) -> tuple[float, float]:
    """(coverage of the truth 0, mean launches) where looking stops once all of [runs, intervals, launches] are narrow."""
    runs, number, most = logs.shape
    done, covers, launches = np.zeros(runs, bool), np.zeros((runs, number), bool), np.zeros(runs)
    k = look = 0
    while not done.all():
        k, look = min(next_analysis(k), most), look + 1
        half = t_quantile((1 + confidence(look)) / 2, k - 1) * logs[..., :k].std(axis=2, ddof=1) / math.sqrt(k)
        new = ~done & ((half <= math.log1p(precision)).all(axis=1) | (k == most))
        covers[new] = (np.abs(logs[..., :k].mean(axis=2)) <= half)[new]
        launches[new], done = k, done | new
    return float(covers.mean()), float(launches.mean())


def summary(logs: Array, precision: float = 0.02) -> tuple[Array, Array, Array]:
    """(launches, mean, variance) of each record of [records, launches] where looking stops."""
    records, most = logs.shape
    done, found, k = np.zeros(records, bool), np.zeros((3, records)), 0
    while not done.all():
        k = min(next_analysis(k), most)
        mean, variance = logs[:, :k].mean(axis=1), logs[:, :k].var(axis=1, ddof=1)
        half = t_quantile((1 + analysis_confidence(0.95)) / 2, k - 1) * np.sqrt(variance / k)
        new = ~done & ((half <= math.log1p(precision)) | (k == most))
        found[:, new] = np.stack([np.full(records, k), mean, variance])[:, new]
        done |= new
    return found[0], found[1], found[2]


def welch_p(a: tuple[Array, Array, Array], b: tuple[Array, Array, Array]) -> Array:
    """Two-sided p of Welch's test, for each pair of records."""
    part_a, part_b = a[2] / a[0], b[2] / b[0]
    df = (part_a + part_b) ** 2 / (part_a**2 / (a[0] - 1) + part_b**2 / (b[0] - 1))
    return np.asarray(2 * stdtr(df, -np.abs(a[1] - b[1]) / np.sqrt(part_a + part_b)), dtype=np.float64)


RULES: tuple[Callable[[int], float], ...] = (
    lambda look: analysis_confidence(0.95),
    lambda look: 0.95 if look == 1 else 0.975,
    lambda look: 0.95,
)


def pooled_covers(values: Array) -> float:
    """t on all trials as if they were independent; [sets, trials]."""
    n = values.shape[1]
    return float(np.mean(np.abs(values.mean(axis=1)) <= t_quantile(0.975, n - 1) * values.std(axis=1, ddof=1) / math.sqrt(n)))


def bootstrap_covers(rng: np.random.Generator, launches: Array, resamples: int = 400) -> float:
    """Percentile bootstrap of the mean launch; [sets, k]."""
    n, k = launches.shape
    means = np.empty((resamples, n), dtype=np.float32)
    for i in range(resamples):
        means[i] = launches[:, rng.integers(0, k, k)].mean(axis=1)  # all sets share the draw, which changes no coverage
    low, high = np.quantile(means, (0.025, 0.975), axis=0)
    return float(np.mean((low <= 0) & (high >= 0)))


def equal_pooled(values: Array) -> float:
    """How often a pooled Student t on all trials of both sides finds no difference; [sets, 2, k, trials]."""
    a, b = (values[:, side].reshape(len(values), -1) for side in (0, 1))
    n = a.shape[1]
    error = np.sqrt((a.var(axis=1, ddof=1) + b.var(axis=1, ddof=1)) / n)
    return float(np.mean(np.abs(b.mean(axis=1) - a.mean(axis=1)) <= t_quantile(0.975, 2 * n - 2) * error))


def pooled_rate(k: int, trials: int, icc: float) -> float:
    """Its false alarms without drift, in closed form."""
    z = t_quantile(0.975, 2 * k * trials - 2) / math.sqrt(1 + (trials - 1) * icc)
    return math.erfc(z / math.sqrt(2))


def share_held(setting: simulated.Setting, seed: int, n: int) -> float:
    rng = np.random.default_rng([seed, *setting.seed])
    return float(np.mean([crossed(setting.draw(rng), setting.margin).verdict == "HELD" for _ in range(n)]))


def says_higher(difference: Difference) -> bool:
    return decide(difference, better="lower").verdict == "higher"


def inside(interval: Interval, truth: float) -> bool:
    return interval.low <= truth <= interval.high


def medians_of(printed: list[tuple[float, float]]) -> Iterator[str]:
    return (f"{100 * x:.2f}" for x in np.median(np.array(printed), axis=0))


def allowance(share: float, n: int) -> float:
    """Three Monte Carlo standard errors."""
    return 3 * math.sqrt(share * (1 - share) / n)


def textbook_effect(cv: float, k: int) -> float:
    """(t[.975] + t[.8]) sqrt(2/k) cv, both with 2(k - 1) degrees of freedom."""
    return (t_quantile(0.975, 2 * (k - 1)) + t_quantile(0.8, 2 * (k - 1))) * math.sqrt(2.0 / k) * cv


if __name__ == "__main__":
    sys.exit(main())
