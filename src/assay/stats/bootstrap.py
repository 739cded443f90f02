"""How uncertain is a statistic that has no formula, or whose distribution is skewed?

BCa, the bias-corrected and accelerated bootstrap (Efron, JASA 82, 1987; `scipy.stats.bootstrap`), over independent units:
items, or whole launches.  A unit is drawn with all that belongs to it; drawing the steps of a launch one by one would
pretend that they are independent.  Few units carry no bootstrap: at 5 launches the percentile form of a 95 % interval
covers 84 %; below 20 units it is refused, and Student's t (`assay.stats.intervals`) is the answer.
Cannot tell: what no unit has shown.  A resample repeats what was seen, so an unseen tail stays unseen.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from assay.stats.intervals import Floats, Interval

Array = NDArray[np.float64]
Method = Literal["BCa", "percentile"]
Side = Literal["two-sided", "less", "greater"]

LEAST_UNITS: Final = 20
RESAMPLES: Final = 9999
AT_ONCE: Final = 1_000_000  # values held in memory


def bca(
    columns: Sequence[Floats],
    statistic: Callable[..., float],
    confidence: float,
    *,
    seed: int,
    side: Side = "two-sided",
    resamples: int = RESAMPLES,
    least: int = LEAST_UNITS,
) -> Interval:
    """BCa interval of statistic(*columns): columns of equal length whose rows are independent units.

    `side` "greater" gives a one-sided lower bound (and high = inf), "less" an upper one.  The same seed gives the same
    interval.  ValueError below `least` units; lower it only to repeat a published example.
    """
    data = [_finite(column) for column in columns]
    if not data or len({len(column) for column in data}) != 1:
        raise ValueError(f"every unit needs a value in every column, but their lengths are {[len(c) for c in data]}")

    constant = all(float(np.ptp(column)) == 0.0 for column in data)
    return _resampled(data, statistic, confidence, seed, side, resamples, least, "BCa", constant)


def over_launches(
    launches: Sequence[Floats],
    statistic: Callable[[Array], float],
    confidence: float,
    *,
    seed: int,
    method: Method = "BCa",
    resamples: int = RESAMPLES,
) -> Interval:
    """Interval of the statistic of all pooled trials, whole launches drawn with replacement; ValueError below 20 launches."""
    data = [_finite(launch) for launch in launches]

    def of_units(units: Array) -> float:
        return float(statistic(np.concatenate([data[int(unit)] for unit in units])))

    whole, constant = np.arange(float(len(data))), float(np.ptp(np.concatenate(data))) == 0.0
    return _resampled([whole], of_units, confidence, seed, "two-sided", resamples, LEAST_UNITS, method, constant)


def _resampled(
    columns: Sequence[Array],
    statistic: Callable[..., float],
    confidence: float,
    seed: int,
    side: Side,
    resamples: int,
    least: int,
    method: Method,
    constant: bool,
) -> Interval:
    """scipy's bootstrap; a statistic with an `axis` (as numpy's have) is computed for many resamples at once."""
    from scipy.stats import bootstrap

    units = len(columns[0])
    if units < least:
        raise ValueError(
            f"a bootstrap needs at least {least} independent units (launches or items), not {units}; use a t interval, or "
            f"measure {least - units} more"
        )
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"the confidence must lie strictly between 0 and 1, not {confidence}")
    value = float(statistic(*columns))
    if constant:
        return Interval(value=value, low=value, high=value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of degenerate data, for which the bounds are nan
        found: Any = bootstrap(
            tuple(columns), statistic, paired=len(columns) > 1, n_resamples=resamples, confidence_level=confidence,
            method=method, alternative=side, batch=max(1, AT_ONCE // units), random_state=np.random.default_rng(seed),
        )  # fmt: skip
    low, high = float(found.confidence_interval.low), float(found.confidence_interval.high)
    if np.isnan(low) or np.isnan(high):
        raise ValueError("the statistic does not tell the units apart, so that resampling them shows no uncertainty")
    return Interval(value=value, low=low, high=high)


def _finite(values: Floats) -> Array:
    data = np.asarray(values, dtype=np.float64)
    if data.ndim != 1 or len(data) == 0 or not np.all(np.isfinite(data)):
        raise ValueError(f"a bootstrap needs lists of at least one finite number; got shape {data.shape}")
    return data
