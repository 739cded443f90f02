"""Which mean may summarise several numbers?

The kind of quantity decides:

    cost    adds up (seconds, joules, dollars)                 arithmetic mean
    count   adds up (samples lost, items done)                 arithmetic mean
    rate    amount per amount (items/s, USD/item)              sum of numerators / sum of denominators
    ratio   unitless (speedup, efficiency, share)              the same; refused without numerators and denominators
    level   does not add up (score, percentile, fitted value)  refused: pool the underlying data instead

Nothing here averages over configurations or workloads; the kind says which mean a reader may use.  Repeated launches of one
configuration estimate one quantity: `intervals` gives their centre (rates and times: on the log scale), and `quotient` that of
shares of a whole that differs between launches.
Sources: Hoefler & Belli, SC'15, rules 3 and 4; Smith, CACM 31, 1988.
Cannot tell: whether the averaged items belong together.

`trimmed_mean`, for the centre of differences of which a few are far off: the mean without the smallest and the largest quarter (midmean),
with the interval s_w t[h - 1] sqrt(n) / h: s_w is the standard deviation after winsorising the tails to the outermost kept values, h the
number kept of n.  Robust to load bursts that lengthen some steps, at little loss for well-behaved values. Source: Tukey & McLaughlin
(1963); Wilcox, "Introduction to Robust Estimation", 4.3; scipy.stats.mstats.trimmed_mean_ci. Cannot tell: anything if more than a quarter
of the values is off on one side.

How far can a share be from the truth, given hits out of totals in a few independent launches?

Value: sum of hits / sum of totals.  Interval: Student t over launches on the ratio (`means.quotient`), since trials within a
launch are dependent, but never narrower than Clopper and Pearson's exact binomial interval (Biometrika 26, 1934) for independent
trials: no failure in 1,000 requests is not certainty.  One launch is unbounded.
Cannot tell: a bias that all launches share.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from fireassay.stats.intervals.intervals import Floats, Interval, fraction, mean_t, t_quantile

Kind = Literal["cost", "rate", "ratio", "level", "count"]

MEANS: Final[Mapping[Kind, str]] = {
    "cost": "arithmetic mean",
    "count": "arithmetic mean",
    "rate": "sum of the numerators / sum of the denominators",
    "ratio": "sum of the numerators / sum of the denominators; refused without them",
    "level": "none: it does not add up",
}


class NoMean(ValueError):
    """The numbers have no valid quotient."""


def quotient(numerators: Floats, denominators: Floats, confidence: float) -> Interval:
    """Sum of the numerators over sum of the denominators, one pair per launch (both of shape [k]), with its interval.

    Student t with k - 1 degrees of freedom on (n_i - R d_i) / mean(d), the plain t interval of n_i/d_i if the
    denominators are equal (Cochran, Sampling Techniques, 1977, chapter 6).  One pair is unbounded.
    """
    above, below = _numbers(numerators, "numerators"), _numbers(denominators, "denominators")
    value = _quotient(above, below)
    spread = mean_t((above - value * below) / below.mean(), confidence)
    return Interval(value=value, low=value + (spread.low - spread.value), high=value + (spread.high - spread.value))


def _quotient(above: NDArray[np.float64], below: NDArray[np.float64]) -> float:
    if len(above) != len(below):
        raise NoMean(f"each numerator needs its denominator, but there are {len(above)} and {len(below)}")
    if float(below.sum()) <= 0.0:
        raise NoMean(f"the denominators must add up to more than 0, not to {below.sum()}")
    return float(above.sum() / below.sum())


def _numbers(values: Floats, name: str) -> NDArray[np.float64]:
    data = np.asarray(values, dtype=np.float64)
    if data.ndim != 1 or len(data) == 0 or not np.all(np.isfinite(data)):
        raise NoMean(f"a quotient needs its {name} as a list of finite numbers, not {values}")
    return data


CUT: Final = 0.25


def trimmed_mean(values: Floats, confidence: float, *, cut: float = CUT) -> Interval:
    """The trimmed mean with its two-sided interval; a single value has no bounds.

    Raises:
        ValueError: there is no value.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    n = len(ordered)
    if n == 0:
        raise ValueError("a trimmed mean needs at least one value")
    g = int(cut * n)
    kept = ordered[g : n - g]
    value = float(kept.mean())
    if n == 1:
        return Interval(value=value, low=-math.inf, high=math.inf)
    drawn_in = np.clip(ordered, kept[0], kept[-1])
    error = float(drawn_in.std(ddof=1)) * math.sqrt(n) / len(kept)
    half = t_quantile(0.5 + confidence / 2, len(kept) - 1) * error
    return Interval(value=value, low=value - half, high=value + half)


def share(hits: Floats, totals: Floats, confidence: float) -> Interval:
    """The share of all trials that hit, from one (hits, total) pair per launch (both of shape [k], totals above 0); within 0..1."""
    spread = quotient(hits, totals, confidence)
    if not math.isfinite(spread.high):
        return spread
    exact = clopper_pearson(float(sum(hits)), float(sum(totals)), confidence)
    return Interval(value=spread.value, low=max(0.0, min(spread.low, exact.low)), high=min(1.0, max(spread.high, exact.high)))


def clopper_pearson(hits: float, total: float, confidence: float) -> Interval:
    """Exact two-sided interval of a binomial share; `hits` of `total` independent trials."""
    from scipy.special import betaincinv

    if not 0.0 <= hits <= total or not total > 0.0:
        raise ValueError(f"a share needs 0 <= hits <= total and a total above 0, not {hits} of {total}")
    fraction(confidence, "confidence")
    error = (1.0 - confidence) / 2.0
    low = float(betaincinv(hits, total - hits + 1.0, error)) if hits > 0 else 0.0
    high = float(betaincinv(hits + 1.0, total - hits, 1.0 - error)) if hits < total else 1.0
    return Interval(value=hits / total, low=low, high=high)
