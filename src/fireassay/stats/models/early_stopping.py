"""Which latency would MLPerf's LoadGen report, and how many queries would it need?

Early stopping (MLPerf inference rules, "Early stopping"; loadgen/early_stopping.cc): with t queries over the bound, h(t) is the
smallest number of passing queries with I_p(h, t + 1) < 1 - confidence (regularised incomplete beta).  The estimate is the
t-th highest latency with the largest t such that h(t) + t <= n.  Fixed counts: N = z^2 p(1 - p)/m^2, m = (1 - p)/20.
For parity only, to reproduce LoadGen's number: it assumes independent queries, which served queries are not (M/M/1 at load
0.8: the "99 %" bound holds half of the time); our own percentiles are in `fireassay.stats.intervals.quantiles`.
It is one order statistic more conservative than the exact binomial bound.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from fireassay.stats.intervals.intervals import Floats, fraction, smallest

CONFIDENCE: Final = 0.99  # LoadGen's


def least_passes(over: int, p: float, confidence: float = CONFIDENCE) -> int:
    """h(t): fewest queries within the bound that offset `over` queries beyond it, for the p-quantile (0..1)."""
    from scipy.special import betainc

    if over < 0:
        raise ValueError(f"the number of queries beyond the bound must be at least 0, not {over}")
    error = 1.0 - fraction(confidence, "confidence")
    fraction(p, "percentile")
    return smallest(1, lambda passes: bool(betainc(passes, over + 1, p) < error))


def floor(p: float, confidence: float = CONFIDENCE) -> int:
    """Fewest queries that give any estimate of the p-quantile: h(1) + 1."""
    return least_passes(1, p, confidence) + 1


def dropped(n: int, p: float, confidence: float = CONFIDENCE) -> int:
    """t: the rank from the top of the latency that estimates the p-quantile of `n` queries; 0 below the floor."""
    if n < floor(p, confidence):
        return 0
    return smallest(1, lambda t: least_passes(t + 1, p, confidence) + t + 1 > n)


def early_stopping_estimate(latencies: Floats, p: float, confidence: float = CONFIDENCE) -> float | None:
    """LoadGen's early-stopping estimate of the p-quantile (same unit); None below the floor."""
    data = np.sort(np.asarray(latencies, dtype=np.float64))
    if data.ndim != 1 or not np.all(np.isfinite(data)):
        raise ValueError(f"latencies must be a list of finite numbers, not an array of shape {data.shape} with gaps")
    rank = dropped(len(data), p, confidence)
    return float(data[len(data) - rank]) if rank else None
