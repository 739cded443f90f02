"""What must a load test find in cases with a known answer?

* M/M/1 (Poisson arrivals, exponential service, one server): time in the system is exponential with rate mu - lambda;
* Little's law L = lambda W (Operations Research 9, 1961) over a window: requests that begin before it or end after it make
  the two sides differ, in a stable system by little;
* closed loop: exact mean value analysis (Reiser & Lavenberg, JACM 27, 1980) of one queue and a think time;
* coordinated omission (Tene, "How NOT to measure latency", 2013): latency counts from when a request was due, not from when a
  generator that waited for the last response sent it.
Cannot tell: anything about a real server; these cases validate load generators.

Which latency would MLPerf's LoadGen report, and how many queries would it need?

Early stopping (MLPerf inference rules, "Early stopping"; loadgen/early_stopping.cc): with t queries over the bound, h(t) is the
smallest number of passing queries with I_p(h, t + 1) < 1 - confidence (regularised incomplete beta).  The estimate is the
t-th highest latency with the largest t such that h(t) + t <= n.  Fixed counts: N = z^2 p(1 - p)/m^2, m = (1 - p)/20.
For parity only, to reproduce LoadGen's number: it assumes independent queries, which served queries are not (M/M/1 at load
0.8: the "99 %" bound holds half of the time); our own percentiles are in `fireassay.stats.intervals.quantiles`.
It is one order statistic more conservative than the exact binomial bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fireassay.stats.intervals.intervals import Floats, fraction, smallest

Array = NDArray[np.float64]

TOLERANCE: Final = 0.02  # relative, for Little's law


@dataclass(frozen=True, kw_only=True)
class Little:
    """Both sides of Little's law over a window, and their relative difference."""

    in_flight: float  # L: requests in flight on average over the window
    arrival_rate: float  # lambda: requests beginning in the window, per second
    mean_latency_s: float  # W: mean latency of these; nan if there are none
    residual: float  # (L - lambda W)/L

    def holds(self, tolerance: float = TOLERANCE) -> bool:
        """True if the two sides agree within this relative tolerance."""
        return abs(self.residual) <= tolerance


def little(begin_s: Floats, end_s: Floats, window: tuple[float, float]) -> Little:
    """Little's law for requests in flight from begin_s[i] to end_s[i], within window[0] to window[1] (seconds).

    An infinite end (still in flight at the end of the record) is allowed only for requests that began outside the window.
    """
    begins, ends = _pair(begin_s, end_s, "begin", "end")
    first, last = window
    if not last > first:
        raise ValueError(f"a window must end after it begins, not run from {first} to {last}")
    began = (begins >= first) & (begins < last)
    latencies = (ends - begins)[began]
    if not np.all(np.isfinite(latencies)):
        raise ValueError("a request that began in the window has no end; end the window before the first of these")
    area = float(np.clip(np.minimum(ends, last) - np.maximum(begins, first), 0.0, None).sum())
    if area == 0.0:
        raise ValueError(f"no request was in flight between {first} and {last}")
    return Little(
        in_flight=area / (last - first),
        arrival_rate=len(latencies) / (last - first),
        mean_latency_s=float(latencies.mean()) if len(latencies) else math.nan,
        residual=(area - float(latencies.sum())) / area,
    )


def _pair(first: Floats, second: Floats, name: str, other: str) -> tuple[Array, Array]:
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(f"every {name} needs its {other}, but there are {a.size} and {b.size}")
    if not np.all(np.isfinite(a)) or np.isnan(b).any():
        raise ValueError(f"every {name} must be finite, and every {other} a number")
    if bool((b < a).any()):
        raise ValueError(f"request {int(np.argmax(b < a))} has its {other} before its {name}")
    return a, b


CONFIDENCE: Final = 0.99  # LoadGen's
MAX_PASSES: Final = 10**13  # a server in MLPerf Inference 5.1 answered 1.1e7 queries, 1e5 of them late


def least_passes(over: int, p: float, confidence: float = CONFIDENCE) -> int:
    """h(t): fewest queries within the bound that offset `over` queries beyond it, for the p-quantile (0..1)."""
    from scipy.special import betainc

    if over < 0:
        raise ValueError(f"the number of queries beyond the bound must be at least 0, not {over}")
    error = 1.0 - fraction(confidence, "confidence")
    fraction(p, "percentile")
    return smallest(1, lambda passes: bool(betainc(passes, over + 1, p) < error), MAX_PASSES)


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
