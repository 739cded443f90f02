"""How do many comparisons, or several interim analyses, keep their error rate?

Holm: p(i) -> max over j <= i of (m - j + 1) p(j), p sorted: the chance of any false finding stays below the level under any
dependence.  Benjamini-Hochberg: p(i) -> min over j >= i of m p(j)/j: the expected share of false findings stays below the
level if the tests are independent or positively dependent (several metrics of one run mostly are).
Sources: Holm, Scandinavian Journal of Statistics 6, 1979; Benjamini & Hochberg, JRSS B 57, 1995.
Cannot tell: comparisons that were made but are not in the list.

Stopping once an interval is narrow favours moments at which the spread is underestimated: a plain 95 % interval examined
after 5, 8, 12, 18, 27, ... launches covers only 92.5 % when it stops.  Two things correct for that: there are few looks (each
at 1.5 times the launches of the one before), and every interval, at each look and in the report, has confidence 1 - alpha/2
instead of 1 - alpha.  The reported interval then covers at least 1 - alpha for normal and close to 1 - alpha for skewed launch
values, for any ratio of spread to precision, and when several intervals must all be narrow: benchmarks/comparison.py measures
it, docs/decisions/0011-sequential-looks.md compares the rules.
Stopping once an interval excludes a limit is another rule: at 1 - alpha/2 it decides wrongly in up to 12 % where the truth is the limit.  The
i-th look then has confidence 1 - alpha/(i (i + 1)): these errors add up to less than alpha, for any number of looks and any dependence.
Comparisons need it too, because a side that stopped on a small spread understates its error.  With one such side alpha/2 is
enough; with two that stopped independently, equal sides are called different in up to 5.5 % at alpha/2, and in at most 5 % at
0.4 alpha (`comparison_confidence`).
Sources: Stein, Annals of Mathematical Statistics 16, 1945 (data-dependent sample sizes); Pocock, Biometrika 64, 1977.
Cannot tell: stopping for any other reason, such as a pleasing result.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fireassay.stats.intervals.intervals import MAX_REPETITIONS, Interval, fraction, t_quantile


def each_of(confidence: float, count: int) -> float:
    """Confidence of each of so many bounds for all to hold together (Bonferroni): 1 - (1 - confidence) / count."""
    if count < 1:
        raise ValueError(f"the number of bounds must be at least 1, not {count}")
    return 1.0 - (1.0 - fraction(confidence, "confidence")) / count


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Adjusted p-values in input order; each compares with the level on its own."""
    p = _probabilities(p_values)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate((len(p) - np.arange(len(p))) * p[order])
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return tuple(float(x) for x in adjusted)


def benjamini_hochberg(p_values: Sequence[float]) -> tuple[float, ...]:
    """Adjusted p-values in input order; those at or below the level are the findings."""
    p = _probabilities(p_values)
    order = np.argsort(p, kind="stable")
    stepped = np.minimum.accumulate((len(p) / np.arange(1, len(p) + 1) * p[order])[::-1])[::-1]
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return tuple(float(x) for x in adjusted)


def _probabilities(p_values: Sequence[float]) -> NDArray[np.float64]:
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or not np.all((p >= 0.0) & (p <= 1.0)):
        raise ValueError(f"p-values must be a list of numbers between 0 and 1, not {list(p_values)}")
    return p


FIRST_ANALYSIS: Final = 5  # fewer launches barely determine the spread
FIRST_DECISION: Final = 3  # the fewest that carry a verdict; its wide interval decides only what is plain
GROWTH: Final = 1.5  # 5, 8, 12, 18, 27, 41, 62, ...
SHARE_OF_ALPHA: Final = 0.5  # of the allowed error, at every look
SHARE_OF_TWO: Final = 0.4  # of the allowed error, when comparing two records that both stopped once narrow


def next_analysis(k: int) -> int:
    """Launches of a configuration at the next look after `k` (0 before the start)."""
    if k < 0:
        raise ValueError(f"the number of launches must be at least 0, not {k}")
    look = FIRST_ANALYSIS
    while look <= k:
        look = math.ceil(GROWTH * look)
    return look


def analysis_confidence(confidence: float) -> float:
    """Confidence of the intervals at each look and in the report, so that the reported one keeps `confidence`."""
    return 1.0 - SHARE_OF_ALPHA * (1.0 - fraction(confidence, "confidence"))


def decision_confidence(confidence: float, look: int) -> float:
    """Confidence at the `look`-th look (from 1) of launches that end once a limit is excluded: the errors of all looks add up to less."""
    if look < 1:
        raise ValueError(f"looks are numbered from 1, not {look}")
    return 1.0 - (1.0 - fraction(confidence, "confidence")) / (look * (look + 1))


def comparison_confidence(confidence: float, looked: int) -> float:
    """Confidence for comparing records of which `looked` stopped once narrow, so that it keeps `confidence`."""
    share = (1.0, SHARE_OF_ALPHA, SHARE_OF_TWO)[min(looked, 2)]
    return 1.0 - share * (1.0 - fraction(confidence, "confidence"))


def narrow_enough(interval: Interval, precision: float) -> bool:
    """Do both bounds lie within the fraction `precision` of the value?  True for width 0, false for an infinite bound."""
    _check(precision)
    reach = precision * abs(interval.value)
    return interval.high - interval.value <= reach and interval.value - interval.low <= reach


def expected_launches(cv: float, precision: float, confidence: float = 0.95) -> int:
    """The look at which about half of the runs are narrow, if launches vary by `cv` (sd of the logarithm)."""
    _check(precision)
    if not (math.isfinite(cv) and cv >= 0.0):
        raise ValueError(f"the coefficient of variation must be a finite number of at least 0, not {cv}")
    tail = (1.0 + analysis_confidence(confidence)) / 2.0
    k = FIRST_ANALYSIS
    while t_quantile(tail, k - 1) * cv / math.sqrt(k) > math.log1p(precision):
        k = next_analysis(k)
        if k > MAX_REPETITIONS:
            raise ValueError(f"more than {MAX_REPETITIONS} launches would be needed; relax the precision of {precision}")
    return k


def _check(precision: float) -> None:
    if not (math.isfinite(precision) and precision > 0.0):
        raise ValueError(f"the precision must be a finite fraction above 0, such as 0.02, not {precision}")
