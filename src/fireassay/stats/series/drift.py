"""Do values that should be constant drift with time, and are successive ones correlated?

Drift: least-squares slope of log(value) over time, as relative change per hour.  Autocorrelated values wander without any drift,
so the error is widened by sqrt((1 + phi)/(1 - phi)), and k counts as k (1 - phi)/(1 + phi); Student t with 2 degrees of freedom
fewer than that.  phi = (k r_1 + 2)/k of the residuals, within 0 and 0.9; the fitted line biases r_1 downwards
(simulated: at p < 0.01, AR(0.5) series of 8 to 50 values show a drift in 2 to 3.4 % of cases; uncorrected in 7 to 13 %).
Lag-1 autocorrelation: r_1 = sum (x_t - m)(x_{t+1} - m) / sum (x_t - m)^2; for independent values within +- 1.96/sqrt(k) in
95 % of series (Bartlett 1946).  Cannot tell: a drift from one step, or a cycle longer than the series.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from fireassay.stats.intervals.autocorrelation import lag_one
from fireassay.stats.intervals.intervals import Floats, t_quantile

LEAST: Final = 4  # fewest values for either
LEAST_DEGREES: Final = 2.0  # of freedom, however strong the autocorrelation
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
    """The trend of positive `values` at times `seconds` (both of shape [k]); None below `LEAST` or at equal times."""
    times, logs = np.asarray(seconds, dtype=np.float64), np.log(np.asarray(values, dtype=np.float64))
    k = len(logs)
    if k < LEAST or float(np.ptp(times)) == 0.0:
        return None
    from scipy.special import stdtr

    centred = times - times.mean()
    scale = float(centred @ centred)
    slope = float(centred @ (logs - logs.mean())) / scale
    rest = logs - logs.mean() - slope * centred
    worth, df = _worth(rest), k - 2.0
    error = math.sqrt(float(rest @ rest) / df / scale * worth)
    df = max(k / worth - 2.0, min(df, LEAST_DEGREES))
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
    """Lag-1 autocorrelation in order of measurement; None below `LEAST` or if all values are equal."""
    data = np.asarray(values, dtype=np.float64)
    return None if len(data) < LEAST or float(np.ptp(data)) == 0.0 else lag_one(data)


def memory_limit(k: int) -> float:
    """The limit that |r_1| of `k` independent values exceeds in 5 % of cases."""
    return 1.96 / math.sqrt(k)


def _relative(exponent: float) -> float:
    return math.expm1(exponent) if exponent < 700.0 else math.inf
