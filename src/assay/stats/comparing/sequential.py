"""How long must launches be added until an interval is narrow enough, and is that interval still right?

Stopping when an interval happens to be narrow prefers the moments at which the spread is underestimated: a plain 95 % interval
that is looked at after 5, 8, 12, 18, 27, ... launches covers only 92.5 % at the moment of stopping.  Two things pay for the
looks: there are few of them (each has half as many launches again as the one before), and every interval, at every look and
in the report, is made at confidence 1 - alpha/2 instead of 1 - alpha.  Then the reported interval covers at least 1 - alpha
for normal and near 1 - alpha for skewed launch values, for any ratio of spread to precision and for several intervals that
must all be narrow: benchmarks/comparison.py measures it, docs/decisions/0011-sequential-looks.md compares the rules.
A comparison pays too: a side that stopped when its spread looked small has an error that is too small.  With one such side alpha/2
is enough; where both stopped so, apart from one another, two equal ones are called different in up to 5.5 % at alpha/2, and in
at most 5 % at 0.4 alpha (`comparison_confidence`).
Sources: Stein, Annals of Mathematical Statistics 16, 1945 (why a data-dependent size needs care); Pocock, Biometrika 64, 1977.
Cannot tell: about stopping for any other reason, such as a result that pleases.
"""

from __future__ import annotations

import math
from typing import Final

from assay.stats.intervals.intervals import MOST_REPETITIONS, Interval, t_quantile

FIRST_LOOK: Final = 5  # fewer launches leave the spread all but unknown
GROWTH: Final = 1.5  # 5, 8, 12, 18, 27, 41, 62, ...
SHARE_OF_ALPHA: Final = 0.5  # of the allowed error, at every look
SHARE_OF_TWO: Final = 0.4  # of the allowed error, in a comparison of two records that both stopped when they were narrow


def next_look(k: int) -> int:
    """Number of launches of a configuration at the first look after `k` of them (0 before the start)."""
    if k < 0:
        raise ValueError(f"the number of launches must be at least 0, not {k}")
    look = FIRST_LOOK
    while look <= k:
        look = math.ceil(GROWTH * look)
    return look


def look_confidence(confidence: float) -> float:
    """Confidence at which intervals are made, at each look and in the report, so that the reported one keeps `confidence`."""
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"the confidence must lie strictly between 0 and 1, not {confidence}")
    return 1.0 - SHARE_OF_ALPHA * (1.0 - confidence)


def comparison_confidence(confidence: float, looked: int) -> float:
    """Confidence at which records are compared of which `looked` stopped when they were narrow, so that it keeps `confidence`."""
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"the confidence must lie strictly between 0 and 1, not {confidence}")
    share = (1.0, SHARE_OF_ALPHA, SHARE_OF_TWO)[min(looked, 2)]
    return 1.0 - share * (1.0 - confidence)


def narrow_enough(interval: Interval, precision: float) -> bool:
    """Do both bounds lie within the fraction `precision` of the value?  An interval of width 0 does, an infinite one does not."""
    _check(precision)
    reach = precision * abs(interval.value)
    return interval.high - interval.value <= reach and interval.value - interval.low <= reach


def expected_launches(cv: float, precision: float, confidence: float = 0.95) -> int:
    """The look at which the interval is narrow if launches vary by `cv` (sd of the logarithm), as about half of the runs find."""
    _check(precision)
    if not (math.isfinite(cv) and cv >= 0.0):
        raise ValueError(f"the coefficient of variation must be a finite number of at least 0, not {cv}")
    tail = (1.0 + look_confidence(confidence)) / 2.0
    k = FIRST_LOOK
    while t_quantile(tail, k - 1) * cv / math.sqrt(k) > math.log1p(precision):
        k = next_look(k)
        if k > MOST_REPETITIONS:
            raise ValueError(f"more than {MOST_REPETITIONS} launches would be needed; widen the precision of {precision}")
    return k


def _check(precision: float) -> None:
    if not (math.isfinite(precision) and precision > 0.0):
        raise ValueError(f"the precision must be a finite fraction above 0, such as 0.02, not {precision}")
