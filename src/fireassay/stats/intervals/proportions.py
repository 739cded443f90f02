"""How far can a share be from the truth, given hits out of totals in a few independent launches?

Value: sum of hits / sum of totals.  Interval: Student t over launches on the ratio (`means.quotient`), since trials within a
launch are dependent, but never narrower than Clopper and Pearson's exact binomial interval (Biometrika 26, 1934) for independent
trials: no failure in 1,000 requests is not certainty.  One launch is unbounded.
Cannot tell: a bias that all launches share.
"""

from __future__ import annotations

import math

from fireassay.stats.intervals.intervals import Floats, Interval, fraction
from fireassay.stats.intervals.means import quotient


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
