"""Do values rise or fall in order of measurement, or drift with time, and are successive ones correlated?

Trend: Mann-Kendall test (Kendall's tau against the order; exact p-value for up to 33 values without ties) and Theil-Sen slope (median
of all pairwise slopes), robust to almost a third of outliers.  Sources: Mann, Econometrica 13, 1945; Sen, Journal of the
American Statistical Association 63, 1968; Kendall, Rank Correlation Methods, 4th ed., 1970.
SciPy gives the same results, but its import takes most of a second.
Assumes that without a trend every order is equally likely: autocorrelated values give too small a p-value.
Cannot tell: a trend from a single jump, or one that rises and falls again.

Drift: least-squares slope of log(value) over time, as relative change per hour.  Autocorrelated values wander without any drift,
so the error is widened by sqrt((1 + phi)/(1 - phi)), and k counts as k (1 - phi)/(1 + phi); Student t with 2 degrees of freedom
fewer than that.  phi = (k r_1 + 2)/k of the residuals, within 0 and 0.9; the fitted line biases r_1 downwards
(simulated: at p < 0.01, AR(0.5) series of 8 to 50 values show a drift in 2 to 3.4 % of cases; uncorrected in 7 to 13 %).
Lag-1 autocorrelation: r_1 = sum (x_t - m)(x_{t+1} - m) / sum (x_t - m)^2; for independent values within +- 1.96/sqrt(k) in
95 % of series (Bartlett 1946).  Cannot tell: a drift from one step, or a cycle longer than the series.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fireassay.stats.intervals.autocorrelation import lag_one
from fireassay.stats.intervals.intervals import Floats, t_quantile

MIN_VALUES: Final = 4  # fewer values give no p-value below 0.3
MAX_EXACT: Final = 33  # without ties; for more the normal approximation is as good


@dataclass(frozen=True, kw_only=True)
class Trend:
    """A monotone trend."""

    change: float  # in the values' unit: slope x (last position - first position)
    p: float  # two-sided
    n: int


def trend(positions: Sequence[float], values: Sequence[float]) -> Trend | None:
    """The trend of values over their positions (times or block numbers); None for fewer than `MIN_VALUES` or equal values.

    Raises:
        ValueError: the numbers of positions and values differ.
    """
    if len(positions) != len(values):
        raise ValueError(f"{len(positions)} positions for {len(values)} values")
    if len(values) < MIN_VALUES or len(set(values)) == 1 or len(set(positions)) < MIN_VALUES:
        return None
    x, y = np.asarray(positions, dtype=np.float64), np.asarray(values, dtype=np.float64)
    run, rise = x[:, None] - x, y[:, None] - y
    later = run > 0
    slope = float(np.median(rise[later] / run[later]))
    score = round(float((np.sign(run) * np.sign(rise)).sum()) / 2)  # concordant pairs less discordant ones
    most = len(x) * (len(x) - 1) // 2
    few = len(x) <= MAX_EXACT or most - abs(score) <= 2  # or almost none out of order
    p = _exact(len(x), score) if few and _untied(x) and _untied(y) else _normal(x, y, score)
    return Trend(change=slope * (max(positions) - min(positions)), p=min(1.0, p), n=len(values))


def _untied(values: NDArray[np.float64]) -> bool:
    return len(np.unique(values)) == len(values)


def _exact(n: int, score: int) -> float:
    """Two-sided p-value of Kendall's score among all orders of n values without ties (Kendall 1970, section 5)."""
    pairs = n * (n - 1) // 2
    fewer = (pairs - abs(score)) // 2  # discordant pairs, or concordant ones if these are fewer
    if 2 * fewer == pairs:
        return 1.0
    orders = [1] + [0] * fewer  # orders of the first j values by their number of discordant pairs
    for j in range(2, n + 1):
        sums = [0, *itertools.accumulate(orders)]
        orders = [sums[k + 1] - sums[max(0, k + 1 - j)] for k in range(fewer + 1)]
    return 2 * sum(orders) / math.factorial(n)


def _normal(x: NDArray[np.float64], y: NDArray[np.float64], score: int) -> float:
    """Two-sided p-value by the normal approximation, with ties."""
    from scipy.special import ndtr

    return 2.0 * float(ndtr(-abs(score) / math.sqrt(_variance(x, y))))


def _variance(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Variance of the score with ties, without a trend (Kendall 1970, section 4.5)."""
    n = len(x)
    ties = [np.unique(values, return_counts=True)[1].astype(np.float64) for values in (x, y)]
    two = [float((t * (t - 1)).sum()) for t in ties]
    three = [float((t * (t - 1) * (t - 2)).sum()) for t in ties]
    five = [float((t * (t - 1) * (2 * t + 5)).sum()) for t in ties]
    both = two[0] * two[1] / (2 * n * (n - 1)) + three[0] * three[1] / (9 * n * (n - 1) * (n - 2))
    return (n * (n - 1) * (2 * n + 5) - five[0] - five[1]) / 18 + both


MIN_DRIFT_VALUES: Final = 4  # fewest values for either
MIN_DEGREES: Final = 2.0  # of freedom, however strong the autocorrelation
BIAS: Final = 2.0  # of k r_1, from fitting the line


@dataclass(frozen=True, kw_only=True)
class Drift:
    """Relative change per hour (0.02 is 2 %) with its interval, and the two-sided p of no change."""

    per_hour: float
    low: float
    high: float
    p_value: float
    over_the_run: float  # relative change of the line from the first to the last value


def drift(seconds: Floats, values: Floats, confidence: float = 0.95) -> Drift | None:
    """The trend of positive `values` at times `seconds` (both of shape [k]); None below `MIN_DRIFT_VALUES` or at equal times."""
    times, logs = np.asarray(seconds, dtype=np.float64), np.log(np.asarray(values, dtype=np.float64))
    k = len(logs)
    if k < MIN_DRIFT_VALUES or float(np.ptp(times)) == 0.0:
        return None
    from scipy.special import stdtr

    centred = times - times.mean()
    scale = float(centred @ centred)
    slope = float(centred @ (logs - logs.mean())) / scale
    rest = logs - logs.mean() - slope * centred
    worth, df = _worth(rest), k - 2.0
    error = math.sqrt(float(rest @ rest) / df / scale * worth)
    df = max(k / worth - 2.0, min(df, MIN_DEGREES))
    half = t_quantile((1.0 + confidence) / 2.0, df) * error
    p = 1.0 if slope == 0.0 else 0.0 if error == 0.0 else float(2.0 * stdtr(df, -abs(slope) / error))
    return Drift(
        per_hour=_relative(slope * 3600.0),
        low=_relative((slope - half) * 3600.0),
        high=_relative((slope + half) * 3600.0),
        p_value=p,
        over_the_run=_relative(slope * float(np.ptp(times))),
    )


def _worth(rest: NDArray[np.float64]) -> float:
    """How many dependent values equal one independent one, from a line's residuals."""
    total = float(rest @ rest)
    r = float(rest[1:] @ rest[:-1]) / total if total > 0.0 else 0.0
    phi = min(max((len(rest) * r + BIAS) / len(rest), 0.0), 0.9)
    return (1.0 + phi) / (1.0 - phi)


def memory(values: Floats) -> float | None:
    """Lag-1 autocorrelation in order of measurement; None below `MIN_DRIFT_VALUES` or if all values are equal."""
    data = np.asarray(values, dtype=np.float64)
    return None if len(data) < MIN_DRIFT_VALUES or float(np.ptp(data)) == 0.0 else lag_one(data)


def memory_limit(k: int) -> float:
    """The limit that |r_1| of `k` independent values exceeds in 5 % of cases."""
    return 1.96 / math.sqrt(k)


def _relative(exponent: float) -> float:
    return math.expm1(exponent) if exponent < 700.0 else math.inf
