"""How far can a value be from the truth, given a few independent repetitions?

The values are one per independent unit (launch, block): pooling the steps inside a launch is the field's most common error,
because they share their launch's effect.  Times and rates are positive and multiplicative, so their interval is a
Student t interval on logarithms, transformed back: exp(mean(log x) -+ t[k-1] s / sqrt(k)).
Sources: Student (1908); Hoefler & Belli, SC'15, rules 5 to 8; Kalibera & Jones, ISMM'13; for the median, the binomial
distribution of order statistics (David & Nagaraja, "Order Statistics", 7.1).
Cannot tell: a bias that all launches share, or dependence between launches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = Sequence[float] | NDArray[np.float64]
MAX_REPETITIONS: Final = 10_000_000  # more is no practical plan; items too


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A point value with a two-sided interval; an infinite bound means that the data do not bound that side."""

    value: float
    low: float
    high: float


@lru_cache(maxsize=1024)
def t_quantile(q: float, df: float) -> float:
    """Quantile `q` (0..1) of Student's t with `df` degrees of freedom (any positive number, inf for the normal)."""
    from scipy.special import ndtri, stdtrit

    fraction(q, "probability of a quantile")
    if not df > 0.0:
        raise ValueError(f"the degrees of freedom must be above 0, not {df}")
    return float(ndtri(q)) if math.isinf(df) else float(stdtrit(df, q))


def mean_t(values: Floats, confidence: float) -> Interval:
    """Student t interval of the mean of independent `values` (shape [k]); one value: -inf..inf.

    Equal values give an interval of width zero: no observed variation, which is not certainty.
    """
    data = finite_vector(values, "values")
    tail = _upper_tail(confidence)
    value = _mean(data)
    if len(data) == 1:
        return Interval(value=value, low=-math.inf, high=math.inf)
    half = t_quantile(tail, len(data) - 1) * standard_deviation(data) / math.sqrt(len(data))
    return Interval(value=value, low=value - half, high=value + half)


def log_t(values: Floats, confidence: float) -> Interval:
    """Interval of the geometric mean of positive `values` (shape [k]); one value v gives (v, 0, inf)."""
    data = _positive(values, "values")
    return _exponential(mean_t(np.log(data), confidence)) if len(data) > 1 else _one_positive(data, confidence)


def paired_log_ratio(numerators: Floats, denominators: Floats, confidence: float) -> Interval:
    """Interval of the geometric mean of numerators[i] / denominators[i], one pair per block (both of shape [k]).

    Effects shared by a block (a slow hour, a warm machine) cancel, so the pair is the unit of analysis.
    """
    above, below = _positive(numerators, "numerators"), _positive(denominators, "denominators")
    if len(above) != len(below):
        raise ValueError(f"a paired ratio needs equally many values, not {len(above)} over {len(below)}")
    return log_t(above / below, confidence)


def order_ranks(n: int, p: float, confidence: float) -> tuple[int | None, int | None]:
    """1-based ranks (l, u) of the order statistics bounding the p-quantile of `n` independent values; None: no such rank.

    With F of Bin(n, p) and a = 1 - confidence: l is the smallest j with F(j) >= a/2, u is one more than the smallest j
    with F(j) >= 1 - a/2 (David & Nagaraja, 7.1; `scipy.stats.quantile_test` gives the same).
    """
    from scipy.special import bdtr

    tail = _upper_tail(confidence)
    fraction(p, "probability of a quantile")
    if n < 1:
        raise ValueError(f"an interval of a quantile needs at least one value, not {n}")
    cumulative = bdtr(np.arange(n + 1, dtype=np.float64), n, p)
    low, high = int(np.argmax(cumulative >= 1.0 - tail)), int(np.argmax(cumulative >= tail)) + 1
    return (low if low >= 1 else None), (high if high <= n else None)


def smallest(first: int, enough: Callable[[int], bool], most: int = MAX_REPETITIONS) -> int:
    """Smallest integer from `first` to `most` for which `enough` holds; `enough` must be monotone. Raises ValueError: there is none."""
    low, high = first - 1, first
    while not enough(high):
        low, high = high, min(2 * high, most)
        if low == high:
            raise ValueError(f"more than {most} repetitions would be needed; accept a wider interval")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def standard_deviation(data: NDArray[np.float64]) -> float:
    """Sample standard deviation (ddof 1); exactly 0 for equal values, despite rounding."""
    return 0.0 if float(np.ptp(data)) == 0.0 else float(np.std(data, ddof=1))


def _mean(data: NDArray[np.float64]) -> float:
    """The mean; exact for equal values."""
    return float(data[0]) if float(np.ptp(data)) == 0.0 else float(np.mean(data))


def _exponential(logs: Interval) -> Interval:
    """Back from logarithms; a bound that overflows becomes infinite."""
    with np.errstate(over="ignore"):
        value, low, high = (float(np.exp(x)) for x in (logs.value, logs.low, logs.high))
    return Interval(value=value, low=low, high=high)


def _one_positive(data: NDArray[np.float64], confidence: float) -> Interval:
    _upper_tail(confidence)
    return Interval(value=float(data[0]), low=0.0, high=math.inf)


def _upper_tail(confidence: float) -> float:
    """The upper quantile of a two-sided interval: 0.975 for 0.95."""
    return (1.0 + fraction(confidence, "confidence")) / 2.0


def fraction(value: float, name: str) -> float:
    """A number strictly between 0 and 1, else ValueError."""
    if not 0.0 < value < 1.0:
        raise ValueError(f"the {name} must lie strictly between 0 and 1, not {value}")
    return value


def finite_vector(values: Floats, name: str) -> NDArray[np.float64]:
    """A list of at least one finite number, else ValueError."""
    data = np.asarray(values, dtype=np.float64)
    if data.ndim != 1 or len(data) == 0:
        raise ValueError(f"{name} must be a list of at least one number, not an array of shape {data.shape}")
    if not np.all(np.isfinite(data)):
        raise ValueError(f"{name} must be finite, but {int(np.sum(~np.isfinite(data)))} of {len(data)} are not")
    return data


def _positive(values: Floats, name: str) -> NDArray[np.float64]:
    data = finite_vector(values, name)
    if float(data.min()) <= 0.0:
        raise ValueError(f"{name} must be above 0 for a logarithmic scale; the smallest is {data.min()}")
    return data
